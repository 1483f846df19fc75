const COLUMNS = [
  ['key', 'Key'],
  ['holder', 'Held by'],
  ['held', 'Held for'],
  ['left', 'Ttl left'],
  ['token', 'Token'],
  ['waiters', 'Waiting'],
] as const;

const columnHeaders = COLUMNS.map(
  ([id, title]) =>
    `<div role="columnheader" class="${id}" id="column-${id}" aria-sort="${id === 'key' ? 'ascending' : 'none'}"><button type="button" id="sort-${id}">${title}</button></div>`,
).join('');

const TILES = [
  ['held', 'Held'],
  ['waiting', 'Processes waiting'],
  ['late', 'Not renewed in time'],
  ['lost', 'Lost, as seen here'],
] as const;

const tiles = TILES.map(
  ([id, title]) => `<div class="tile"><dt>${title}</dt><dd class="value" id="tile-${id}">–</dd></div>`,
).join('');

/** What is there before anything is known. */
export const pageMarkup = `<header class="top">
  <h1>Locks <span id="manager" class="dim"></span></h1>
  <p class="pills"><span id="connection" class="pill degraded">connecting</span> <span id="health" class="pill" hidden></span> <span id="authority" class="pill" hidden></span></p>
  <p class="dim from">answered by <span id="self">–</span></p>
</header>
<p id="trouble" class="banner" role="alert" hidden></p>
<main>
  <dl class="tiles">${tiles}</dl>
  <div class="columns">
    <section class="card locks" aria-labelledby="locks-title">
      <div class="bar-top">
        <h2 id="locks-title">Held locks</h2>
        <span id="count" class="dim">–</span>
        <label class="unseen" for="search">Search keys and pods</label>
        <input id="search" type="search" placeholder="Search key or pod ( / )" autocomplete="off" autocapitalize="off" spellcheck="false" aria-keyshortcuts="/">
        <label class="unseen" for="filter">Show</label>
        <select id="filter">
          <option value="all">All</option>
          <option value="late">Not renewed in time</option>
          <option value="waited">Waited for</option>
          <option value="own">Of this process</option>
        </select>
      </div>
      <div id="grid" role="grid" aria-labelledby="locks-title" aria-describedby="grid-help" aria-rowcount="1" aria-colcount="6">
        <div role="rowgroup" class="grid-head"><div role="row" class="row" aria-rowindex="1">${columnHeaders}</div></div>
        <div id="viewport" role="none" class="viewport"><div id="canvas" role="rowgroup" class="canvas"></div></div>
      </div>
      <p id="grid-help" class="unseen">Arrow keys move between locks, Enter opens one.</p>
      <p id="empty" class="dim note">Reading the locks …</p>
      <p id="truncated" class="note" hidden>There are more locks than are shown here; search covers what is shown. The command line lists all of them.</p>
    </section>
    <section id="detail" class="card detail" aria-labelledby="detail-title" tabindex="-1" hidden>
      <div class="detail-head"><h2 id="detail-title"></h2><button type="button" id="detail-close">Close</button></div>
      <dl id="detail-facts" class="facts"></dl>
      <h3>Who held it</h3>
      <div id="detail-timeline"></div>
      <ol id="detail-past" class="past"></ol>
      <p id="detail-no-past" class="dim">No earlier holder has been seen. What is shown is what this page and the answering process saw.</p>
      <button type="button" id="detail-release" class="danger" hidden>Release by force …</button>
    </section>
  </div>
  <div class="cards">
    <section class="card" aria-labelledby="nodes-title">
      <h2 id="nodes-title">Store</h2>
      <ul id="nodes" class="nodes"></ul>
      <p id="no-nodes" class="dim" hidden>This store has no nodes to show.</p>
    </section>
    <section class="card" aria-labelledby="losses-title">
      <h2 id="losses-title">Lost locks</h2>
      <p id="no-losses" class="dim">None that this page or the answering process saw.</p>
      <ol id="losses" class="losses"></ol>
    </section>
    <section class="card" aria-labelledby="waits-title">
      <h2 id="waits-title">How long grants took</h2>
      <div id="waits"></div>
      <p class="dim">Calls of <span id="self-too">this process</span>, since it started.</p>
    </section>
    <section class="card" aria-labelledby="contention-title">
      <h2 id="contention-title">Contention</h2>
      <div id="contention"></div>
      <p class="legend"><span class="key waiting"></span>had to wait <span class="key busy"></span>busy <span class="key unavailable"></span>unavailable</p>
      <table class="labels">
        <thead><tr><th scope="col">Label</th><th scope="col">granted</th><th scope="col">waited</th><th scope="col">busy</th><th scope="col">unavailable</th></tr></thead>
        <tbody id="labels"></tbody>
      </table>
    </section>
  </div>
</main>
<p id="notice" class="notice" aria-hidden="true"></p>
<div id="live" class="unseen" aria-live="polite"></div>
<dialog id="confirm" aria-labelledby="confirm-title" aria-describedby="confirm-text">
  <h2 id="confirm-title">Release this lock by force?</h2>
  <p id="confirm-text"><b id="confirm-key"></b> is held by <b id="confirm-holder"></b>. That process is told by its next renewal, or when its ttl is over if it does not renew. Until it has stopped, two are at work: only guarded writes keep them apart.</p>
  <p id="confirm-message" role="status"></p>
  <div class="actions"><button type="button" id="confirm-cancel">Cancel</button><button type="button" id="confirm-go" class="danger">Release</button></div>
</dialog>`;
