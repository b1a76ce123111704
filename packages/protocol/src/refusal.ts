/** A request refused because of the caller; the pipeline turns it into a response in one place. */
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
  /** For the log only. */
  readonly cause?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Further members of the response, such as Position, Expected and Hint. */
  readonly members?: Readonly<Record<string, unknown>>
}
