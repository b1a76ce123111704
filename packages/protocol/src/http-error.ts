/** An error code of HTTP, and advice that several have. */

export interface HttpError {
  readonly status: number
  readonly title: string
  /** What the caller or the operator can do. */
  readonly advice: string
}

export const AGAIN = 'Retry after the seconds in `Retry-After`.'
export const TOKEN = 'Send `Authorization: Bearer` with an access token from this server.'
export const SIGN_IN = 'Refresh the token, or sign in again.'
