/** What a snippet is made of. */

export interface Values {
  readonly issuer: string
  readonly clientId: string
  readonly redirectUri: string
  readonly signedOutUri: string | undefined
  readonly scope: string
}

export interface Snippet {
  /** The library. */
  readonly title: string
  readonly install?: string
  /** What the code is called. */
  readonly file: string
  readonly code: string
  readonly note?: string
}

/** A string of JavaScript; JSON is one, in double quotes. */
export function quote(text: string): string {
  return text.includes("'") || text.includes('\\') ? JSON.stringify(text) : `'${text}'`
}

/** The demonstration has no certificate, which the library refuses by default. */
export function insecureOption({ issuer }: Values): string {
  return issuer.startsWith('http:')
    ? `, {
  // This server has no certificate.
  execute: [oidc.allowInsecureRequests],
}`
    : ''
}

/** Gets the library from the server itself. */
export function installLibrary({ issuer }: Values): string {
  return `npm install ${issuer}/client/gatehouse-client.tgz`
}
