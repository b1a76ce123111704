/** The secrets of channels: keys of Standard Webhooks 1.0, and addresses that are secrets; sealed at rest. */
import { randomBytes } from 'node:crypto'
import { seal, unseal } from '../keys/opaque.ts'
import type { Channel } from './channels.ts'

const PREFIX = 'whsec_'
/** Standard Webhooks 1.0, "Signature scheme": 24 to 64 bytes. */
const [FEWEST_BYTES, MOST_BYTES, NEW_BYTES] = [24, 64, 32]
const PURPOSE = 'secret of a channel'

export function newSigningSecret(): string {
  return writeSigningSecret(randomBytes(NEW_BYTES))
}

export function writeSigningSecret(key: Buffer): string {
  return PREFIX + key.toString('base64')
}

/** The bytes of a key; undefined if the text is not one. */
export function readSigningSecret(text: string): Buffer | undefined {
  if (!text.startsWith(PREFIX)) return undefined
  const encoded = text.slice(PREFIX.length)
  const bytes = Buffer.from(encoded, 'base64')
  const isKey = bytes.toString('base64') === encoded && bytes.length >= FEWEST_BYTES && bytes.length <= MOST_BYTES
  return isKey ? bytes : undefined
}

export function sealSecret(secret: string, key: Buffer): string {
  return seal(Buffer.from(secret), key, PURPOSE)
}

/** The secret, and the one before it while it signs too. */
export function openSecrets({ sealed }: Pick<Channel, 'sealed'>, key: Buffer, now: number): readonly string[] {
  const { secret, previous } = sealed
  return [secret, previous !== undefined && previous.until > now ? previous.secret : undefined].flatMap((each) =>
    each === undefined ? [] : [unseal(each, key, PURPOSE).toString()],
  )
}
