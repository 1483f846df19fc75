/** Both schemes in one set of names; every text on its ground has a contrast of 4.5 or more. */
export const pageStyle = `
:root {
  --ground: #f5f6f8; --card: #ffffff; --line: #dde1e7; --text: #161b22; --dim: #57606a; --accent: #0b62c4; --accent-soft: #dbe9fb;
  --well: #1a7f4b; --late: #9a6200; --late-soft: #fff3d6; --bad: #c4222d; --bad-soft: #fde4e5; --hold: #4a8fdd; --past: #a9b6c6;
  --radius: 10px; --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0e1117; --card: #161b22; --line: #2b323c; --text: #e6eaf0; --dim: #9aa5b1; --accent: #6cb0ff; --accent-soft: #17304e;
    --well: #4cc38a; --late: #f0b549; --late-soft: #3a2c0c; --bad: #ff7b80; --bad-soft: #451a1e; --hold: #3f83d1; --past: #4b5766;
  }
}
* { box-sizing: border-box; }
html { color-scheme: light dark; }
body { margin: 0; background: var(--ground); color: var(--text); font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 20px; margin: 0; } h2 { font-size: 15px; margin: 0; } h3 { font-size: 13px; margin: 16px 0 6px; }
p, dl, ol, ul { margin: 0; padding: 0; } ol, ul { list-style: none; } dd { margin: 0; }
[hidden] { display: none !important; }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.dim { color: var(--dim); font-weight: 400; }
.note { padding: 10px 14px; }
.number, .held, .left, .token, .waiters { font-variant-numeric: tabular-nums; }
button, input, select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 7px; padding: 6px 10px; min-height: 34px; }
button { cursor: pointer; } button:hover { border-color: var(--accent); } button:disabled { opacity: 0.6; cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.danger { color: var(--bad); border-color: var(--bad); } .danger:hover { background: var(--bad-soft); border-color: var(--bad); }

.top { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 14px; padding: 14px 20px; background: var(--card); border-bottom: 1px solid var(--line); }
.pills { display: flex; flex-wrap: wrap; gap: 6px; } .from { margin-left: auto; overflow-wrap: anywhere; }
.pill { display: inline-block; padding: 2px 10px; border-radius: 99px; border: 1px solid currentColor; font-size: 12px; font-weight: 600; }
.pill.up { color: var(--well); } .pill.degraded { color: var(--late); background: var(--late-soft); } .pill.down { color: var(--bad); background: var(--bad-soft); }
.banner { padding: 10px 20px; background: var(--bad-soft); color: var(--bad); font-weight: 600; overflow-wrap: anywhere; }
main { padding: 16px 20px 40px; max-width: 1500px; margin: 0 auto; display: grid; gap: 16px; }
.tiles { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 12px; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); }
.tile { padding: 10px 14px; display: flex; flex-direction: column-reverse; } .tile dt { color: var(--dim); font-size: 12px; }
.tile .value { font-size: 26px; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; } .value.late { color: var(--late); } .value.lost { color: var(--bad); }
.columns { display: flex; gap: 16px; align-items: flex-start; } .locks { flex: 1 1 auto; min-width: 0; } .detail { flex: 0 0 400px; min-width: 0; padding: 14px; }
.cards { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px; } .cards .card { padding: 14px; min-width: 0; } .cards h2 { margin-bottom: 8px; }

.bar-top { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; padding: 12px 14px; } #search { margin-left: auto; width: 240px; }
.grid-head { border-block: 1px solid var(--line); background: var(--ground); padding-right: 12px; }
.grid-head .row { display: grid; } .grid-head button { border: 0; background: none; padding: 4px 0; min-height: 30px; color: var(--dim); font-size: 12px; font-weight: 600; }
[aria-sort="ascending"] button::after { content: " ↑"; content: " ↑" / ""; } [aria-sort="descending"] button::after { content: " ↓"; content: " ↓" / ""; }
.viewport { height: min(60vh, 560px); overflow-y: auto; overflow-x: hidden; overscroll-behavior: contain; scrollbar-gutter: stable; position: relative; }
.canvas { position: relative; }
.row { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr) 76px 136px 124px 58px; gap: 0 12px; align-items: center; padding: 0 14px; }
.canvas .row { position: absolute; inset: 0 0 auto 0; height: 40px; display: grid; border-bottom: 1px solid var(--line); cursor: pointer; border-left: 3px solid transparent; padding-left: 11px; }
.canvas .row:hover { background: var(--ground); } .canvas .row.active { background: var(--accent-soft); } .canvas .row:focus-visible { outline-offset: -2px; }
.canvas .row.late { background: var(--late-soft); border-left-color: var(--late); } .canvas .row.critical { background: var(--bad-soft); border-left-color: var(--bad); }
.row .key { display: flex; align-items: center; gap: 8px; min-width: 0; } .row .key .text { font-weight: 600; white-space: pre; } .row .text, .row .holder { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.row .token { font-family: var(--mono); font-size: 12px; color: var(--dim); overflow: hidden; text-overflow: ellipsis; } .row .holder { color: var(--dim); direction: rtl; text-align: left; } .row .holder bdi { direction: ltr; } .waiters { text-align: right; } .waiters.some { font-weight: 700; } .grid-head .waiters { text-align: right; }
.badge { flex: none; font-size: 11px; font-weight: 600; padding: 0 7px; border-radius: 99px; border: 1px solid currentColor; color: var(--dim); }
.late .badge { color: var(--late); } .critical .badge { color: var(--bad); }
.left { display: flex; align-items: center; gap: 8px; } .bar { flex: 1; height: 8px; border-radius: 4px; background: var(--line); overflow: hidden; } .left .number { min-width: 58px; text-align: right; white-space: nowrap; }
.fill { display: block; height: 100%; background: var(--well); transform-origin: left; transition: transform 1s linear; } .late .fill { background: var(--late); } .critical .fill { background: var(--bad); } .kept .fill { background: var(--past); }

.detail-head { display: flex; gap: 10px; align-items: flex-start; justify-content: space-between; } .detail h2 { overflow-wrap: anywhere; white-space: pre-wrap; font-family: var(--mono); font-size: 14px; }
.facts { margin-top: 10px; display: grid; gap: 4px; } .facts div { display: grid; grid-template-columns: 76px minmax(0, 1fr); gap: 8px; } .facts dt { color: var(--dim); } .facts dd { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.past { display: grid; gap: 4px; margin: 8px 0; font-size: 12px; } .past li { display: grid; gap: 0; padding: 4px 8px; border-left: 3px solid var(--past); overflow-wrap: anywhere; } .past .bad { border-left-color: var(--bad); color: var(--bad); background: var(--bad-soft); }
#detail-release { margin-top: 10px; width: 100%; }
svg { display: block; width: 100%; height: auto; overflow: visible; } svg text { fill: var(--dim); font-size: 11px; } svg .value { fill: var(--text); } svg .lane { fill: var(--text); font-size: 12px; }
.timeline { max-width: 560px; } .tick line { stroke: var(--line); } .hold { fill: var(--past); } .hold.held { fill: var(--well); } .hold.held.late { fill: var(--late); } .hold.held.critical { fill: var(--bad); }
.hold.expired, .hold.lost { fill: var(--bad); stroke: var(--text); stroke-dasharray: 3 2; } .hold.forced { fill: var(--late); stroke: var(--text); stroke-dasharray: 3 2; }
.granted { fill: var(--hold); } .waiting { fill: var(--hold); } .busy { fill: var(--late); } .unavailable { fill: var(--bad); } .ground { fill: transparent; }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 8px; color: var(--dim); font-size: 12px; margin: 4px 0; } .legend .key { width: 10px; height: 10px; border-radius: 3px; } .legend .waiting { background: var(--hold); } .legend .busy { background: var(--late); } .legend .unavailable { background: var(--bad); }
.labels { width: 100%; border-collapse: collapse; font-size: 12px; font-variant-numeric: tabular-nums; table-layout: fixed; } .labels th:first-child { width: 40%; text-align: left; overflow-wrap: anywhere; } .labels th, .labels td { text-align: right; padding: 3px 0 3px 6px; font-weight: 400; border-top: 1px solid var(--line); } .labels thead th { color: var(--dim); border: 0; }
.nodes { display: grid; gap: 6px; } .node { display: grid; grid-template-columns: minmax(0, 1.2fr) minmax(0, 1.4fr) 110px 62px; gap: 10px; align-items: center; padding-left: 16px; position: relative; }
.node::before { content: ""; position: absolute; left: 0; top: 50%; margin-top: -5px; width: 10px; height: 10px; border-radius: 50%; background: var(--well); } .node.down::before { background: var(--bad); border-radius: 2px; } .node.quarantine::before { background: var(--late); border-radius: 2px; }
.node .name { font-family: var(--mono); font-size: 12px; overflow-wrap: anywhere; } .node .state { color: var(--dim); overflow-wrap: anywhere; } .node.down .state { color: var(--bad); } .node.quarantine .state { color: var(--late); } .node .number { text-align: right; } .spark { height: 20px; } .spark path { fill: none; stroke: var(--hold); stroke-width: 1.5; }
.losses { display: grid; gap: 6px; max-height: 260px; overflow-y: auto; } .loss { padding: 6px 10px; border-left: 3px solid var(--bad); background: var(--bad-soft); color: var(--bad); display: grid; justify-items: start; overflow-wrap: anywhere; }
.link { border: 0; background: none; padding: 0; min-height: 0; text-align: left; font-weight: 600; text-decoration: underline; overflow-wrap: anywhere; white-space: pre-wrap; }
.notice { position: fixed; left: 50%; bottom: 16px; transform: translateX(-50%); max-width: min(90vw, 640px); padding: 8px 14px; border-radius: 8px; background: var(--text); color: var(--card); overflow-wrap: anywhere; } .notice:empty { display: none; }
dialog { max-width: min(92vw, 480px); border: 1px solid var(--line); border-radius: var(--radius); background: var(--card); color: var(--text); padding: 18px; } dialog p { margin-top: 10px; overflow-wrap: anywhere; } dialog::backdrop { background: rgb(0 0 0 / 0.45); }
#confirm-message { color: var(--bad); min-height: 1.4em; } .actions { display: flex; justify-content: flex-end; gap: 10px; margin-top: 12px; }

@media (max-width: 1100px) { .columns { flex-direction: column; align-items: stretch; } .detail { flex-basis: auto; } }
@media (max-width: 700px) {
  .top { padding: 12px; } .from { margin-left: 0; } main { padding: 12px; gap: 12px; } .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); } .cards { grid-template-columns: minmax(0, 1fr); }
  #search { margin-left: 0; flex: 1 1 160px; width: auto; min-width: 0; } #search, #filter { font-size: 16px; }
  .grid-head .row { display: flex; flex-wrap: wrap; } .grid-head .waiters { text-align: left; }
  .canvas .row { height: 68px; grid-template-columns: minmax(0, 1fr) 128px; grid-template-rows: 1fr 1fr; gap: 0 10px; } .canvas .token { display: none; }
  .canvas .key { grid-column: 1; grid-row: 1; } .canvas .holder { grid-column: 1; grid-row: 2; } .canvas .left { grid-column: 2; grid-row: 2; } .canvas .held { grid-column: 2; grid-row: 1; text-align: right; } .canvas .held::before { content: "for "; color: var(--dim); }
  .canvas .waiters { display: none; } .canvas .waiters.some { display: block; position: absolute; right: 4px; top: 2px; font-size: 11px; }
  .node { grid-template-columns: minmax(0, 1fr) 62px; } .node .spark { display: none; } .node .state { grid-column: 1 / -1; }
}
@media (prefers-reduced-motion: reduce) { .fill { transition: none; } }
@media (forced-colors: active) { .fill, .hold, .granted, .waiting, .busy, .unavailable, .node::before { forced-color-adjust: none; } }
`;
