/** What a queued mail carries besides its row, sealed: the link, and the values of its text. */
import { seal, unseal } from '../store/keys/opaque.ts'

export interface Payload {
  /** What a person typed on the page for forgotten passwords, until it has been looked up. */
  readonly typed?: string | undefined
  /** Of the link. */
  readonly token?: string | undefined
  /** When the link expires, if that is not when delivery is given up. */
  readonly linkExpiresAt?: number | undefined
  /** When what the mail is about ends. */
  readonly endsAt?: number | undefined
  readonly subject?: string | undefined
  readonly address?: string | undefined
  readonly userAgent?: string | undefined
  /** Of an alert. */
  readonly text?: string | undefined
  readonly url?: string | undefined
}

export interface PayloadSealing {
  seal(id: string, payload: Payload): string
  /** Undefined if it was sealed with another key, or for another mail. */
  open(id: string, sealed: string): Payload | undefined
}

export function payloadSealing(key: Buffer): PayloadSealing {
  const sealPurpose = (id: string) => `mail ${id}`
  return {
    seal: (id, payload) => seal(Buffer.from(JSON.stringify(payload)), key, sealPurpose(id)),
    open(id, sealed) {
      try {
        return JSON.parse(unseal(sealed, key, sealPurpose(id)).toString())
      } catch {
        return undefined
      }
    },
  }
}
