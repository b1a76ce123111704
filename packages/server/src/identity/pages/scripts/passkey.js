// Asks the browser for a passkey, or to create one, and then submits the form.
const form = document.getElementById('passkey')

if (form instanceof HTMLFormElement && window.PublicKeyCredential !== undefined) {
  form.hidden = false
  let ready = false
  form.addEventListener('submit', async (event) => {
    if (ready) return
    event.preventDefault()
    try {
      const credential = await ask(form.dataset)
      form.elements.credential.value = JSON.stringify(describe(credential))
    } catch (error) {
      // The server refuses an empty credential and shows what to do.
      console.info(error)
      form.elements.credential.value = ''
    }
    ready = true
    form.requestSubmit()
  })
}

function ask({ get, create }) {
  if (create !== undefined) {
    const options = JSON.parse(create)
    options.challenge = toBytes(options.challenge)
    options.user.id = toBytes(options.user.id)
    for (const known of options.excludeCredentials ?? []) known.id = toBytes(known.id)
    return navigator.credentials.create({ publicKey: options })
  }
  const options = JSON.parse(get)
  options.challenge = toBytes(options.challenge)
  for (const known of options.allowCredentials ?? []) known.id = toBytes(known.id)
  return navigator.credentials.get({ publicKey: options })
}

function describe(credential) {
  const { response } = credential
  const parts = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']
  const encoded = Object.fromEntries(parts.flatMap((name) => (response[name] ? [[name, toText(response[name])]] : [])))
  if (typeof response.getTransports === 'function') encoded.transports = response.getTransports()
  return {
    id: credential.id,
    rawId: toText(credential.rawId),
    type: credential.type,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: encoded,
  }
}

function toBytes(text) {
  return Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0))
}

function toText(buffer) {
  return btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')
}
