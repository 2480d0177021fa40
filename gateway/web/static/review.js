/* The script of the review pages. It builds no markup and decides nothing: keys move the focus, answers wait until
   the card was visible, and the page says when what it shows is no longer what is stored. Without it everything works
   too: forms are plain forms, and the server checks each answer by itself. */
'use strict';
(() => {
  const INERT = 700; // milliseconds that answers wait after the card appeared, moved or got its window back
  const EVERY = 5000; // milliseconds between looks where there is no stream
  const page = document.body.dataset;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => Array.from(document.querySelectorAll(selector));

  /* answers: armed after the form was in view, in a window that has the focus, for a moment */
  const forms = all('form[data-answer]');
  const note = one('[data-arm-state]');
  let moved = false;
  const say = (text) => { if (note && note.textContent !== text) note.textContent = text; };
  const closed = () => all('details[data-long]:not([data-seen])');
  all('details[data-long]').forEach((long) => long.addEventListener('toggle', () => {
    if (long.open) long.dataset.seen = '1';
  }));
  const states = new Map(forms.map((form) => [form, { since: 0, visible: false }]));
  const armed = (form) => {
    const state = states.get(form);
    return !moved && state.visible && state.since > 0 && performance.now() - state.since >= INERT;
  };
  const show = () => {
    forms.forEach((form) => {
      const ready = armed(form);
      form.toggleAttribute('data-armed', ready);
      form.querySelectorAll('button').forEach((button) => button.setAttribute('aria-disabled', String(!ready)));
    });
    say(moved ? page.moved || '' : forms.some(armed) ? '' : page.wait || '');
  };
  const restart = (form) => {
    const state = states.get(form);
    state.since = state.visible && document.hasFocus() && !document.hidden ? performance.now() : 0;
    show();
    if (state.since) window.setTimeout(show, INERT + 20);
  };
  if (forms.length) {
    const watcher = new IntersectionObserver((entries) => entries.forEach((entry) => {
      const state = states.get(entry.target);
      const visible = entry.isIntersecting;
      if (visible !== state.visible) { state.visible = visible; restart(entry.target); }
    }), { threshold: 0.2 });
    forms.forEach((form) => {
      watcher.observe(form);
      form.addEventListener('submit', (event) => {
        const unread = form.hasAttribute('data-yes') && closed().length > 0 && !(event.submitter && event.submitter.value === 'no');
        if (!armed(form) || unread) {
          event.preventDefault();
          say(unread ? page.open || '' : page.wait || '');
          if (unread) closed()[0].scrollIntoView({ block: 'center' });
          return;
        }
        if (form.dataset.sent) { event.preventDefault(); return; } // one press, one answer
        form.dataset.sent = '1';
      });
    });
    const again = () => forms.forEach(restart);
    ['focus', 'blur', 'resize', 'pageshow'].forEach((name) => window.addEventListener(name, again));
    document.addEventListener('visibilitychange', again);
    window.addEventListener('pageshow', () => forms.forEach((form) => delete form.dataset.sent));
    show();
  }

  /* keys: they move the focus and open pages, nothing else */
  let at = -1;
  const rows = () => all('[data-row] a.open');
  const go = (step) => {
    const found = rows();
    if (!found.length) return;
    const now = found.indexOf(document.activeElement);
    at = Math.min(found.length - 1, Math.max(0, (now >= 0 ? now : at) + step));
    found[at].focus();
  };
  const follow = (selector) => { const link = one(selector); if (link) link.click(); };
  const focus = (selector) => {
    const target = one(selector);
    const shut = target && target.closest('details');
    if (shut) shut.open = true;
    if (target) { target.scrollIntoView({ block: 'center' }); target.focus({ preventScroll: true }); }
    return target;
  };
  const keys = {
    j: () => go(1),
    k: () => go(-1),
    o: () => { const row = document.activeElement; if (rows().includes(row)) row.click(); },
    d: () => focus('#diff'),
    b: () => follow('#b'),
    g: () => follow('#g'),
    e: () => follow('#e'),
    q: () => focus('#q'),
    z: () => focus('#z'),
    n: () => follow('#n'),
    r: () => focus('#reject'),
    a: () => focus('#typed') || focus('[data-first]'),
    u: () => follow(one('#u') ? '#u' : 'a.home'),
    '/': () => focus('#search'),
  };
  document.addEventListener('keydown', (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest('input, select, textarea')) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    const act = Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (act) { event.preventDefault(); act(); }
  });

  /* changes: a line at the top says so; nothing moves under anybody's hand */
  const live = one('#live');
  const tell = (text) => { if (live) { live.firstElementChild.textContent = text; live.hidden = false; } };
  const known = { mark: page.mark || '', open: '' };
  const look = async () => {
    const where = page.item ? `/review/changes?item=${encodeURIComponent(page.item)}` : '/review/changes';
    const answer = await fetch(where, { credentials: 'same-origin', cache: 'no-store' });
    if (!answer.ok) return;
    const found = await answer.json();
    if (page.item) {
      if (String(found.item.version) !== page.version) { moved = true; tell(page.moved || ''); if (forms.length) show(); }
      else if (page.said !== undefined && String(found.item.said) !== page.said) tell(page.changed || '');
    } else if (page.mark !== undefined) {
      if (known.open !== '' && String(found.open) !== known.open || String(found.mark) !== known.mark) tell(page.changed || '');
    }
    known.open = String(found.open);
  };
  if (page.item || page.mark !== undefined) {
    let timer = 0;
    const poll = () => { if (!timer) timer = window.setInterval(() => look().catch(() => {}), EVERY); };
    try {
      const stream = new EventSource('/review/events');
      stream.addEventListener('change', () => look().catch(() => {}));
      stream.addEventListener('ended', () => stream.close());
      stream.addEventListener('error', () => { if (stream.readyState === EventSource.CLOSED) poll(); });
      window.addEventListener('pagehide', () => stream.close());
    } catch { poll(); }
  }
})();
