/** One-time recovery codes, for when the second factor is lost. */
import { createHmac, randomInt } from 'node:crypto'

const COUNT = 10
const GROUPS = 4
const GROUP_LENGTH = 4
/** Without 0, O, 1, I and L, which are easily confused on paper. 79 bits in all. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'

export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => Array.from({ length: GROUPS }, newGroup).join('-'))
}

function newGroup(): string {
  return Array.from({ length: GROUP_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')
}

/** Keyed: codes cannot be searched for in a copy of the database alone. Ignores case, spaces and dashes. */
export function recoveryDigest(code: string, key: Buffer): string {
  return createHmac('sha256', key)
    .update(`recovery ${code.toLowerCase().replace(/[^a-z0-9]/g, '')}`)
    .digest('base64url')
}
