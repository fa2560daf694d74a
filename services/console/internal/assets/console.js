// Works on every page. Without it everything still works.
'use strict';
(() => {
  const $ = (query, at = document) => at.querySelector(query);
  const all = (query, at = document) => [...at.querySelectorAll(query)];
  const body = document.body;

  // The summary of problems, or else the first field that asks for it, gets the focus.
  $('.problems')?.focus();

  // A sent form shows that it is being sent, and cannot be sent twice.
  const load = document.createElement('div');
  load.className = 'load';
  body.append(load);
  let timer;
  const busy = (on) => {
    clearTimeout(timer);
    if (on) timer = setTimeout(() => load.classList.add('on'), 200);
    else load.classList.remove('on');
  };
  addEventListener('pageshow', () => {
    busy(false);
    all('[aria-disabled=true]').forEach((b) => b.removeAttribute('aria-disabled'));
  });
  // The tab keeps the form that was sent last, without secrets, until a page shows the response. Such a page is not a step of
  // the sign-in.
  const keep = 'bellbuoy:kept';
  const step = $('.gate,[data-keep]');
  const pathOf = (form) => new URL(form.action).pathname;
  const fields = (form) => [...form.elements].filter((f) => f.name && f.matches('input,select,textarea') && !f.matches('[data-secret]')
    && (f.name === 'version' || !['password', 'hidden', 'file'].includes(f.type)) && !f.autocomplete.includes('one-time-code'));
  const isChoice = (f) => ['checkbox', 'radio'].includes(f.type);
  // Several fields may have one name: boxes, which differ in their value, and texts, which differ in their id.
  const keyOf = (f) => isChoice(f) ? f.value : f.id;
  document.addEventListener('submit', (e) => {
    if (e.defaultPrevented || e.submitter?.formTarget) return;
    const button = e.submitter ?? $('button', e.target);
    if (button?.getAttribute('aria-disabled') === 'true') return e.preventDefault();
    button?.setAttribute('aria-disabled', 'true');
    busy(true);
    if (e.target.getAttribute('method') !== 'post' || step) return; // a field may have the name method
    const typed = fields(e.target).map((f) => [f.name, keyOf(f), f.value, f.checked]);
    try { sessionStorage.setItem(keep, JSON.stringify({ path: pathOf(e.target), typed })); } catch { /* it is full or forbidden */ }
  });
  let kept;
  try {
    kept = JSON.parse(sessionStorage.getItem(keep));
    if (!step) sessionStorage.removeItem(keep);
  } catch { /* it is forbidden */ }
  for (const form of kept && $('[data-kept]') ? all('main form').filter((one) => pathOf(one) === kept.path) : []) {
    for (const [name, key, value, checked] of kept.typed) {
      const f = fields(form).find((one) => one.name === name && keyOf(one) === key);
      if (f && isChoice(f)) f.checked = checked;
      else if (f) f.value = value; // the version is the one that the member saw
    }
  }
  document.addEventListener('click', (e) => {
    const link = e.target.closest?.('a[href]');
    if (link && link.origin === location.origin && !link.hash && !link.hasAttribute('download') && !e.ctrlKey && !e.metaKey && !e.shiftKey) busy(true);
  });

  // Buttons that copy a text. They need the script, so the script shows them.
  for (const button of all('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText($(button.dataset.copy).textContent);
      $('.said', button).textContent = 'Copied';
    });
  }

  for (const button of all('[data-print]')) {
    button.hidden = false;
    button.addEventListener('click', () => print());
  }

  // Time zones of the browser, as proposals.
  const zone = $('#timeZone');
  if (zone && Intl.supportedValuesOf) {
    const list = document.createElement('datalist');
    list.id = 'zones';
    list.append(...Intl.supportedValuesOf('timeZone').map((z) => new Option(z, z)));
    zone.after(list);
    zone.setAttribute('list', 'zones');
  }

  // Deletions open in a dialog. The page behind the link is the same without script.
  document.addEventListener('click', async (e) => {
    const link = e.target.closest?.('a[data-dialog]');
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey || !window.HTMLDialogElement) return;
    e.preventDefault();
    let main;
    try {
      const response = await fetch(link.href);
      main = response.ok && new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('[data-ask]');
    } catch { /* the page says what is wrong */ }
    busy(false);
    if (!main) return location.assign(link.href);
    const dialog = document.createElement('dialog');
    dialog.setAttribute('aria-labelledby', 'ask-title');
    dialog.append(main);
    $('[data-cancel]', dialog)?.addEventListener('click', (c) => { c.preventDefault(); dialog.close(); });
    dialog.addEventListener('close', () => { dialog.remove(); link.focus(); });
    body.append(dialog);
    dialog.showModal();
  });

  // A message that nobody has typed follows the status.
  for (const form of all('[data-event]')) {
    const message = $('#message', form);
    const texts = all('template[data-message]', form).map((t) => [t.dataset.message, t.innerHTML]);
    form.addEventListener('change', (e) => {
      if (e.target.name !== 'status' || !message || (message.value && !texts.some(([, text]) => text === message.value))) return;
      message.value = (texts.find(([status]) => status === e.target.value) ?? ['', ''])[1];
    });
  }

  // The bar counts whom the chosen components and channels reach.
  let asked = 0;
  const count = async (form) => {
    const bar = $('[data-reach]', form);
    const query = new URLSearchParams();
    for (const f of all('[name=components]:checked,[name=dashboards]:checked,[name=notify]:checked,[name=notify][type=hidden]', form)) query.append(f.name, f.value);
    if (bar.dataset.eventId) query.set('event', bar.dataset.eventId);
    if (bar.dataset.kind) query.set('kind', bar.dataset.kind);
    const mine = ++asked;
    let next;
    try {
      const response = await fetch(`/console/parts/audience?${query}`);
      next = response.ok && new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('[data-reach]');
    } catch { /* the channels stay as they are */ }
    if (!next || mine !== asked) return;
    const at = bar.contains(document.activeElement) && document.activeElement.id;
    bar.replaceWith(next);
    if (at) document.getElementById(at)?.focus();
    for (const label of all('[data-label]', form)) label.textContent = label.dataset.label + (next.dataset.total && ` and notify ${next.dataset.total}`);
  };
  document.addEventListener('change', (e) => {
    if (['components', 'dashboards', 'notify'].includes(e.target.name) && e.target.form && $('[data-reach]', e.target.form)) count(e.target.form);
  });

  // A text in the notation is shown below its field as dashboards show it. The button does the same without script.
  for (const by of all('[data-text]')) {
    const area = document.getElementById(by.dataset.text);
    const shown = document.createElement('div');
    let late;
    shown.className = 'text shown';
    shown.dir = 'auto';
    by.replaceWith(shown);
    area.addEventListener('input', () => {
      clearTimeout(late);
      late = setTimeout(async () => {
        try {
          const response = await fetch(by.formAction, { method: 'POST', body: new URLSearchParams([[area.name, area.value]]) });
          const text = response.ok && new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('[data-text-shown]');
          if (text) shown.replaceChildren(...text.childNodes);
        } catch { /* the next input tries again */ }
      }, 500);
    });
  }

  // A short list of components is searched without a request.
  for (const box of all('[data-needs-script]')) {
    box.hidden = false;
    $('input', box).addEventListener('input', (e) => {
      const wanted = e.target.value.trim().toLowerCase();
      for (const chip of all('.chip', box.parentElement)) {
        chip.hidden = !chip.textContent.toLowerCase().includes(wanted) && !$('input', chip).checked;
      }
    });
    $('input', box).addEventListener('keydown', (e) => { if (e.key === 'Enter') e.preventDefault(); });
  }

  // Parts of a page that are loaded again.
  const repeat = (part) => {
    if (!part?.dataset.every) return;
    setTimeout(async () => {
      let next;
      try {
        const response = document.hidden || await fetch(part.dataset.part);
        next = response.ok && new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('[data-part]');
      } catch { /* the next try may work */ }
      if (next && next.outerHTML !== part.outerHTML && !part.contains(document.activeElement)) {
        part.replaceWith(next);
        part = next;
      }
      repeat(part);
    }, part.dataset.every * (part.dataset.every > 9 ? 1000 + Math.random() * 1000 : 1000));
  };
  all('[data-part]').forEach(repeat);

  // The palette finds pages and records. Without script its link leads to the page that does the same.
  const palette = $('#palette');
  const find = () => {
    if (!palette.showModal) return location.assign('/console/find');
    palette.showModal();
    look();
  };
  const field = palette && $('input', palette);
  const hits = $('#palette-hits');
  const options = () => all('[role=option]', hits);
  let turn = 0;
  let typing;
  const choose = (n) => {
    const list = options();
    list.find((one) => one.ariaSelected === 'true')?.setAttribute('aria-selected', false);
    const one = list[(n + list.length) % list.length];
    if (!one) return field.removeAttribute('aria-activedescendant');
    one.setAttribute('aria-selected', true);
    one.scrollIntoView({ block: 'nearest' });
    field.setAttribute('aria-activedescendant', one.id);
  };
  const look = async () => {
    const mine = ++turn;
    let found;
    try {
      const response = await fetch(`/console/parts/find?${new URLSearchParams({ q: field.value })}`);
      found = response.ok && new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('[data-found]');
    } catch { /* the text below says so */ }
    if (mine !== turn) return;
    hits.replaceChildren(found || '');
    field.setAttribute('aria-expanded', options().length > 0);
    field.removeAttribute('aria-activedescendant');
    if (field.value) choose(0);
    $('[role=status]', palette).textContent = found ? found.dataset.said : 'The results cannot be loaded. Press Enter for the page.';
  };
  if (palette) {
    field.addEventListener('input', () => {
      clearTimeout(typing);
      turn++; // results on their way are of another text
      typing = setTimeout(look, 150);
    });
    palette.addEventListener('keydown', (e) => {
      const at = options().findIndex((one) => one.ariaSelected === 'true');
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (step) {
        e.preventDefault();
        choose(at < 0 && step < 0 ? -1 : at + step);
      } else if (e.key === 'Enter' && at >= 0 && !e.ctrlKey && !e.isComposing) {
        e.preventDefault();
        options()[at].click();
      }
    });
    palette.addEventListener('click', (e) => { if (e.target === palette) palette.close(); });
    palette.addEventListener('close', () => {
      clearTimeout(typing);
      turn++;
      field.value = '';
      hits.replaceChildren();
      field.setAttribute('aria-expanded', false);
    });
    for (const link of all('[data-find]')) {
      link.addEventListener('click', (e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey || !palette.showModal) return;
        e.preventDefault();
        e.stopPropagation();
        find();
      });
    }
  }

  // Shortcuts. A member can switch them off. The list of the page has the links that the member may open.
  let after = 0;
  document.addEventListener('keydown', (e) => {
    if (body.dataset.shortcuts !== 'on') return;
    const control = e.ctrlKey || e.metaKey;
    if (control && e.key === 'Enter') return e.target.form?.requestSubmit();
    if (e.altKey || $('dialog[open]') || e.target.closest('input,textarea,select')) return;
    if (control ? e.key === 'k' : e.key === '/') {
      e.preventDefault();
      return find();
    }
    if (control) return;
    const second = Date.now() - after < 1500;
    after = 0;
    if (second) all('#shortcut-list [data-key]').find((link) => link.dataset.key === e.key)?.click();
    else if (e.key === 'g') after = Date.now();
    else if (e.key === 'c') $('.report')?.click();
    else if (e.key === '?') $('#shortcut-list').showModal();
    else if (e.key === 'j' || e.key === 'k') {
      const list = all('.rows .to a, .rows summary');
      const at = list.indexOf(document.activeElement) + (e.key === 'j' ? 1 : -1);
      list[Math.max(0, Math.min(at, list.length - 1))]?.focus();
    }
  });
})();
