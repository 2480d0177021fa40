/* Passkeys. Each form with data-passkey holds what the browser is asked; the answer goes into its field, and the form is
   sent like any other. Nothing here decides, and no markup is built. Without it the other ways to sign in work. */
'use strict';
(() => {
  if (!window.PublicKeyCredential) return;
  const bytes = (text) => {
    const plain = atob(text.replace(/-/g, '+').replace(/_/g, '/').padEnd(Math.ceil(text.length / 4) * 4, '='));
    return Uint8Array.from(plain, (char) => char.charCodeAt(0));
  };
  const text = (buffer) => {
    const plain = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join('');
    return btoa(plain).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  };
  const ids = (list) => (list || []).map((one) => ({ ...one, id: bytes(one.id) }));
  const make = async (asked) => {
    const publicKey = {
      ...asked,
      challenge: bytes(asked.challenge),
      user: { ...asked.user, id: bytes(asked.user.id) },
      excludeCredentials: ids(asked.excludeCredentials),
    };
    const made = await navigator.credentials.create({ publicKey });
    return {
      id: made.id,
      rawId: text(made.rawId),
      type: made.type,
      response: {
        clientDataJSON: text(made.response.clientDataJSON),
        attestationObject: text(made.response.attestationObject),
      },
    };
  };
  const use = async (asked) => {
    const publicKey = { ...asked, challenge: bytes(asked.challenge), allowCredentials: ids(asked.allowCredentials) };
    const found = await navigator.credentials.get({ publicKey });
    const answer = found.response;
    return {
      id: found.id,
      rawId: text(found.rawId),
      type: found.type,
      response: {
        clientDataJSON: text(answer.clientDataJSON),
        authenticatorData: text(answer.authenticatorData),
        signature: text(answer.signature),
        userHandle: answer.userHandle ? text(answer.userHandle) : null,
      },
    };
  };
  document.querySelectorAll('form[data-passkey]').forEach((form) => {
    form.hidden = false;
    form.addEventListener('submit', async (event) => {
      if (event.defaultPrevented || form.elements.response.value) return;
      event.preventDefault();
      const said = form.querySelector('[data-said]');
      if (said) said.hidden = true;
      try {
        const asked = JSON.parse(form.dataset.options);
        const answer = form.dataset.passkey === 'create' ? await make(asked) : await use(asked);
        form.elements.response.value = JSON.stringify(answer);
        form.submit();
      } catch (error) {
        if (said) { said.textContent = form.dataset.failed || ''; said.hidden = false; }
      }
    });
  });
})();
