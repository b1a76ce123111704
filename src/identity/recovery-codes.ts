/** Codes on paper for the day when the second factor is lost; each is good once. */
import { createHmac, randomInt } from 'node:crypto'

const COUNT = 10
const GROUPS = 4
const GROUP_LENGTH = 4
/** Neither 0 and O, nor 1, I and L: they are typed from paper. 79 bits in all. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'

export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => Array.from({ length: GROUPS }, newGroup).join('-'))
}

function newGroup(): string {
  return Array.from({ length: GROUP_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')
}

/** Keyed, so that a copy of the database alone cannot be searched for codes. Case, spaces and dashes do not matter. */
export function recoveryDigest(code: string, key: Buffer): string {
  return createHmac('sha256', key)
    .update(`recovery ${code.toLowerCase().replace(/[^a-z0-9]/g, '')}`)
    .digest('base64url')
}
