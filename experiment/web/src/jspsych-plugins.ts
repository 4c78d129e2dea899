/** Our trial plugins for other people's jsPsych experiments. A page loads the build of this file after jsPsych. The build
 * defines the variable `equipoisePlugins`.
 */
export { measureFrameInterval_ms } from "./timing/frame-meter";
export { default as BlackboxPredictPlugin } from "./plugins/blackbox-predict";
export { default as DemographicsPlugin } from "./plugins/demographics";
export { default as FreeTextPlugin } from "./plugins/free-text";
export { default as KeypressPlugin } from "./plugins/keypress";
export { default as MultipleChoicePlugin } from "./plugins/multiple-choice";
export { default as NumberPlugin } from "./plugins/number";
export { default as PagePlugin } from "./plugins/page";
export { default as RankingPlugin } from "./plugins/ranking";
export { default as RatingPlugin } from "./plugins/rating";
export { default as RecallPlugin } from "./plugins/recall";
