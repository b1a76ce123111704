/** The user who is signed in in a browser, for pages that anybody may see. */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import type { User } from '../../store/accounts/user.ts'
import { type BrowserContextEnv, openBrowserContext } from './browser-context.ts'
import { browserCookies } from './cookies.ts'

/** Undefined also while the database cannot be read. */
export async function findSignedInUser(
  context: Context,
  issuer: string,
  { sessions, users, rateLimits }: Omit<BrowserContextEnv, 'cookies'>,
): Promise<User | undefined> {
  try {
    const cookies = browserCookies(issuer)
    return (await openBrowserContext(context, { cookies, sessions, users, rateLimits })).user
  } catch (error) {
    if (error instanceof Refusal) throw error
    context.log.warn({ err: error }, 'the session of the start page could not be read')
    return undefined
  }
}
