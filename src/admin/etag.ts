/** Validators of representations, so that nobody overwrites a change that they have not seen (RFC 9110 §13). */
import { hash } from 'node:crypto'
import { Refusal } from '../protocol/refusal.ts'
import type { AdminCall, AdminReply } from './route.ts'

function tagOf(representation: unknown): string {
  return `"${hash('sha256', JSON.stringify(representation), 'base64url').slice(0, 22)}"`
}

export function tagged(representation: object): AdminReply {
  return { status: 200, body: representation, headers: { etag: tagOf(representation) } }
}

/** Something new, where it can be found, and what is told this once beside it. */
export function created(representation: object, location: string, once: object = {}): AdminReply {
  return { status: 201, body: { ...representation, ...once }, headers: { etag: tagOf(representation), location } }
}

/** A change must name the version that it changes; `*` says "whatever it is now". */
export function requireMatch(call: AdminCall, current: object): void {
  if (call.ifMatch === undefined)
    throw new Refusal('admin.precondition_required', 428, 'Send If-Match with the ETag that you have read, or *', {
      headers: { etag: tagOf(current) },
    })
  checkMatch(call, current)
}

/** For removals, where naming the version is the caller's choice. */
export function checkMatch(call: AdminCall, current: object): void {
  if (call.ifMatch === undefined || call.ifMatch.trim() === '*') return
  const tags = call.ifMatch.split(',').map((tag) => tag.trim())
  const now = tagOf(current)
  // Weak tags never match here (RFC 9110 §13.1.1).
  if (!tags.includes(now))
    throw new Refusal('admin.changed_meanwhile', 412, 'It was changed meanwhile: read it again', {
      headers: { etag: now },
    })
}
