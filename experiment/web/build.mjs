// Bundles the client into static/, where the server finds it: equipoise.js and equipoise.css.
import { build } from "esbuild";

const LICENCES =
  "/* Equipoise's browser client. Contains jsPsych (MIT, Josh de Leeuw and contributors), seedrandom (MIT, David Bau),\n" +
  "   auto-bind (MIT, Sindre Sorhus) and random-words (MIT, Apostrophe Technologies). */";

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
