/** Usernames: which ones there can be. */
import { LONGEST_NAME, NAME } from 'gatehouse-protocol'
import { USER_ID_PREFIX } from '../store/accounts/user.ts'

/** The text as a username; undefined if it is none. */
export function readUsername(text: string | undefined): string | undefined {
  const username = text?.normalize('NFKC').trim() ?? ''
  return isUsername(username) ? username : undefined
}

export function isUsername(text: string): boolean {
  return NAME.test(text) && text.length <= LONGEST_NAME && !text.startsWith(USER_ID_PREFIX)
}
