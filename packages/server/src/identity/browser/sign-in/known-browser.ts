/** Recognises the browsers in which a person has signed in, and tells the person of others by mail. */
import type { Context } from '../../../http/context.ts'
import { readCookie, setCookie } from '../../../http/request/cookies.ts'
import type { User } from '../../../store/accounts/user.ts'
import { newSecret } from '../../../store/keys/opaque.ts'
import type { BrowserContext } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'

/** What this request has set: one that uses a link and signs in meets its browser twice. */
const CHOSEN = new WeakMap<Context, string>()

/** `isTold`: without a notice, for a person who has just used a link that was meant for them. Does nothing where no mail is set up. */
export async function meetBrowser(
  context: BrowserContext,
  user: Pick<User, 'id'>,
  env: BrowserEnv,
  { isTold = false } = {},
): Promise<void> {
  const { mail, cookies } = env
  if (mail === undefined) return
  const { http } = context
  const secret = CHOSEN.get(http) ?? readCookie(http.headers.cookie, cookies.known) ?? newSecret()
  if (!CHOSEN.has(http)) http.addCookie(setCookie(cookies.known, secret))
  CHOSEN.set(http, secret)
  await env.revocations.inTransaction(async (_revocations, stores) => {
    const isKnown = await stores.knownBrowsers.see(user.id, secret)
    if (!isKnown && !isTold) await mail.notify(stores, { kind: 'new-browser', userId: user.id, ...readOrigin(context) })
  })
}

/** For notices: where something was done. */
export function readOrigin({ http }: BrowserContext) {
  return { address: http.address, userAgent: http.headers['user-agent'] ?? '' }
}
