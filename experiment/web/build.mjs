// Builds the bundles in static/, from where the server sends them. equipoise.js and equipoise.css are the client.
// equipoise-plugins.js has our plugins for other people's jsPsych experiments. It uses the variable that jsPsych's build
// for browsers defines.
import { build } from "esbuild";

const LICENCES =
  "/* Equipoise's browser client. Contains jsPsych (MIT, Josh de Leeuw and contributors), seedrandom (MIT, David Bau),\n" +
  "   auto-bind (MIT, Sindre Sorhus) and random-words (MIT, Apostrophe Technologies). */";

const JSPSYCH_FROM_VARIABLE = {
  name: "jspsych-from-variable",
  setup(build) {
    build.onResolve({ filter: /^jspsych$/ }, () => ({ path: "jspsych", namespace: "variable" }));
    build.onLoad({ filter: /.*/, namespace: "variable" }, () => ({ contents: "module.exports = jsPsychModule;" }));
  },
};

await build({
  entryPoints: ["src/jspsych-plugins.ts"],
  outfile: "static/equipoise-plugins.js",
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "equipoisePlugins",
  target: "es2020",
  plugins: [JSPSYCH_FROM_VARIABLE],
  banner: { js: "/* Equipoise's plugins for jsPsych 8. */" },
  logLevel: "info",
});

await build({
  entryPoints: [
    { in: "src/main.ts", out: "equipoise" },
    { in: "src/style.css", out: "equipoise" },
  ],
  outdir: "static",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2020",
  legalComments: "eof",
  banner: { js: LICENCES },
  logLevel: "info",
});
