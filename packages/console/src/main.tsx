/** The console: signs in, then shows the shell. */
import { render } from 'preact'
import { AREAS } from './areas.ts'
import { open, session } from './gate.ts'
import { server } from './server.ts'
import { followLanguage } from './shell/language.ts'
import { place, restorePlace, startRouter } from './shell/router.ts'
import { Shell } from './shell/shell.tsx'
import { SignedOut } from './shell/signed-out.tsx'

function Console() {
  return session.value.kind === 'signed-in' ? <Shell areas={AREAS} /> : <SignedOut session={session.value} />
}

async function start(): Promise<void> {
  const { origin, pathname, search } = location
  // Another name of this machine: the sign-in and its cookies belong to the issuer.
  if (origin !== new URL(server.issuer).origin) return location.replace(new URL(pathname + search, server.issuer))
  if (place.value.path[0] === 'signed-out') session.value = { kind: 'signed-out', cause: 'left' }
  const root = document.querySelector('#console')
  if (root !== null) render(<Console />, root)
  if (session.value.kind === 'signed-out') return
  startRouter()
  await open(restorePlace)
  followLanguage()
}

void start()
