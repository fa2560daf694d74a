// Work in pieces: the import of subscribers and that of a status page send requests, each until it has a response, and say how
// far they are.
'use strict';
globalThis.pieces = (() => {
  const $ = (query) => document.querySelector(query);
  const [said, status, bar] = ['[data-said]', '[data-run] [role=status]', '[data-run] progress'].map($);
  const longestPause = 30;

  // A Halt interrupts the work. The member can go on, unless it is final.
  class Halt extends Error {
    constructor(text, final) { super(text); this.final = final; }
  }

  const say = (text) => { said.textContent = status.textContent = text; };
  const progress = (text, part) => {
    said.textContent = text;
    if (Math.floor(bar.value * 10) < Math.floor(part * 10)) status.textContent = text; // every tenth is announced
    bar.value = part;
  };
  const pause = (seconds, signal) => new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); });
  });

  // post returns the JSON of the response that accept takes. It repeats the request while there is no such response, until the
  // signal: each request may be repeated. failed is called after a request whose result is unknown.
  const post = async (address, request, signal, accept, failed) => {
    for (let wait = 1; ; wait = Math.min(2 * wait, longestPause)) {
      try {
        const response = await fetch(address, { ...request, method: 'POST', signal: AbortSignal.timeout(60_000) });
        if (response.ok && response.headers.get('Content-Type')?.startsWith('application/json')) {
          const got = await response.json();
          if (accept(got)) return got;
          failed();
        } else if (response.redirected) {
          throw new Halt('You are signed out. Sign in in another tab, then go on.');
        } else if (response.status < 500 && response.status !== 429) {
          const page = new DOMParser().parseFromString(await response.text(), 'text/html');
          throw new Halt(page.querySelector('main p')?.textContent ?? 'The request was not accepted.');
        }
      } catch (e) {
        if (e instanceof Halt) throw e;
        failed();
      }
      if (!signal.aborted) {
        say(`Bellbuoy cannot be reached. The next try is in ${wait} second${wait > 1 ? 's' : ''}.`);
        await pause(wait, signal);
      }
      if (signal.aborted) throw new Halt('Stopped.');
    }
  };

  // row returns a row of a list: a name, and a text about the named.
  const row = (name, text) => {
    const [item, to, key, why] = ['li', 'div', 'bdi', 'bdi'].map((tag) => document.createElement(tag));
    [to.className, why.className] = ['to', 'soft small'];
    [key.textContent, why.textContent] = [name, text];
    to.append(key, why);
    item.append(to);
    return item;
  };
  return { Halt, say, progress, pause, post, row, bar };
})();
