/** What the server wrote into the page, in its element `gatehouse`. */

export interface WireAddress {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  /** Whether users may sign in with their passwords. */
  readonly passwords: boolean
}

export interface ServerInfo {
  /** Path of the issuer, empty at the root; the prefix of every path of the server. */
  readonly base: string
  readonly issuer: string
  readonly version: string
  readonly services: readonly string[]
  readonly demo: boolean
  /** Whether mail is set up. */
  readonly mail: boolean
  /** Whether agents can connect. */
  readonly agents: boolean
  /** How tools connect by PostgreSQL's protocol; undefined where they cannot. */
  readonly wire?: WireAddress
  /** The operator's name for the product. */
  readonly name: string
  /** URL of the operator's logo; undefined for that of Gatehouse. */
  readonly logo?: string
  /** For the first DPoP proof. */
  readonly nonce?: string
  /** Of the texts; one of `languages`. */
  readonly language: string
  readonly languages: readonly string[]
  /** URLs of the style sheets of areas. */
  readonly areaStyles: Readonly<Record<string, string>>
}

export const server: ServerInfo = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=gatehouse]')?.content ?? '{}',
)
