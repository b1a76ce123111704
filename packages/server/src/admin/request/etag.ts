/** Entity tags and If-Match (RFC 9110 §13), so that no change is overwritten by one that was made without seeing it. */
import { hash } from 'node:crypto'
import { Refusal } from 'gatehouse-protocol'
import type { AdminCall, AdminReply } from '../route.ts'

function createEtag(representation: unknown): string {
  return `"${hash('sha256', JSON.stringify(representation), 'base64url').slice(0, 22)}"`
}

/** `readOnly` has members that are shown, but cannot be changed here. */
export function tagged(representation: object, readOnly: object = {}): AdminReply {
  return { status: 200, body: { ...representation, ...readOnly }, headers: { etag: createEtag(representation) } }
}

/** `once` has members that are shown only in this response, such as a generated secret. */
export function created(representation: object, location: string, once: object = {}): AdminReply {
  return { status: 201, body: { ...representation, ...once }, headers: { etag: createEtag(representation), location } }
}

/** A change must send If-Match; `*` matches any version. */
export function requireMatch(call: AdminCall, current: object): void {
  if (call.ifMatch === undefined)
    throw new Refusal('admin.precondition_required', 428, 'Send If-Match with the ETag that you have read, or *', {
      headers: { etag: createEtag(current) },
    })
  checkMatch(call, current)
}

/** For deletions, where If-Match is optional. */
export function checkMatch(call: AdminCall, current: object): void {
  if (call.ifMatch === undefined || call.ifMatch.trim() === '*') return
  const tags = call.ifMatch.split(',').map((tag) => tag.trim())
  const now = createEtag(current)
  // RFC 9110 §13.1.1: weak tags never match.
  if (!tags.includes(now))
    throw new Refusal('admin.changed_meanwhile', 412, 'The object was changed in the meantime: read it again', {
      headers: { etag: now },
    })
}
