/** A refusal as problem details (RFC 9457). */
import { errorTitle } from './http-errors.ts'
import type { Refusal } from './refusal.ts'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly Code: string
  readonly [member: string]: unknown
}

/** `title` is needed for codes that are not in HTTP_ERRORS. */
export function toProblem({ code, status, message, details }: Refusal, title = errorTitle(code)): Problem {
  return { type: `urn:gatehouse:error:${code}`, title, status, detail: message, Code: code, ...details.members }
}
