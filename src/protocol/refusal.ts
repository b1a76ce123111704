/** A request that is refused through the caller's own fault; each door turns it into its reply in one place. */
export class Refusal extends Error {
  readonly code: string
  readonly status: number
  readonly details: RefusalDetails

  constructor(code: string, status: number, publicText: string, details: RefusalDetails = {}) {
    super(publicText, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'Refusal'
    this.code = code
    this.status = status
    this.details = details
  }
}

export interface RefusalDetails {
  /** What the log may know and the caller must not. */
  readonly cause?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Members that the reply carries beside code and text (for example Position, Expected, Hint). */
  readonly members?: Readonly<Record<string, unknown>>
}
