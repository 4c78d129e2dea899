// Bundles the client into static/, where the server finds it: equipoise.js and equipoise.css; and our plugins for jsPsych
// experiments of others, equipoise-plugins.js, which takes jsPsych from the variable that its build for browsers makes.
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
