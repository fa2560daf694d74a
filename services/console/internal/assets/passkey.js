// Passkeys: the browser makes or uses one, and the form is sent with its response.
'use strict';
(() => {
  const forms = document.querySelectorAll('[data-passkey]');
  if (!window.PublicKeyCredential) {
    document.querySelectorAll('[data-without]').forEach((e) => { e.hidden = false; });
    return;
  }
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
  const text = (buffer) => buffer ? btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '') : undefined;
  const options = (o) => {
    o.challenge = bytes(o.challenge);
    if (o.user) o.user.id = bytes(o.user.id);
    for (const c of [...o.allowCredentials ?? [], ...o.excludeCredentials ?? []]) c.id = bytes(c.id);
    return o;
  };
  const plain = (c) => ({
    id: c.id, rawId: text(c.rawId), type: c.type, authenticatorAttachment: c.authenticatorAttachment ?? undefined, clientExtensionResults: c.getClientExtensionResults(),
    response: {
      clientDataJSON: text(c.response.clientDataJSON), attestationObject: text(c.response.attestationObject), authenticatorData: text(c.response.authenticatorData),
      signature: text(c.response.signature), userHandle: text(c.response.userHandle), transports: c.response.getTransports?.(),
    },
  });
  let abort;
  async function run(form, mediation) {
    abort?.abort();
    abort = new AbortController();
    const said = form.querySelector('.said');
    try {
      const response = await fetch(form.dataset.passkey, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
      const challenge = await response.json();
      if (challenge.again) {
        const name = form.elements.name?.value;
        const next = location.pathname + (name ? `?${new URLSearchParams({ name })}` : '');
        return location.assign(`/console/sign-in/again?${new URLSearchParams({ next })}`);
      }
      if (!response.ok) throw new Error('refused');
      const publicKey = options(challenge.options.publicKey ?? challenge.options);
      const made = form.dataset.create ? await navigator.credentials.create({ publicKey, signal: abort.signal })
        : await navigator.credentials.get({ publicKey, mediation, signal: abort.signal });
      form.elements.ticket.value = challenge.ticket;
      form.elements.credential.value = JSON.stringify(plain(made));
      const keep = document.querySelector('#keep');
      if (keep && form.elements.keep) form.elements.keep.value = keep.checked ? 'on' : '';
      form.dataset.ready = 'yes';
      form.requestSubmit();
    } catch (e) {
      if (e.name === 'AbortError' || mediation) return;
      said.textContent = e.name === 'InvalidStateError' ? 'This device already has a passkey for your account.' : 'Your browser did not use a passkey. Try again, or go on without it.';
      form.querySelector('button')?.removeAttribute('aria-disabled');
    }
  }
  for (const form of forms) {
    form.hidden = false;
    form.querySelectorAll('[data-script]').forEach((e) => { e.hidden = false; });
    form.addEventListener('submit', (e) => {
      if (form.dataset.ready) return;
      e.preventDefault();
      e.stopImmediatePropagation();
      run(form);
    });
  }
  const auto = document.querySelector('[data-passkey][data-auto]');
  if (auto) PublicKeyCredential.isConditionalMediationAvailable?.().then((can) => can && run(auto, 'conditional'));
})();
