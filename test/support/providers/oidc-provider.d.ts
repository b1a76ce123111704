declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'
  import type { Context } from 'oidc-provider/lib/shared/access_token.js'

  interface TokenModel {
    find(value: string): Promise<unknown>
  }

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    callback(): RequestListener
    on(event: string, listener: (...args: unknown[]) => void): this
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): this
    readonly AccessToken: TokenModel
    readonly ClientCredentials: TokenModel
    readonly OIDCContext: new (
      context: Context,
    ) => { route: string }
    proxy: boolean
  }
}

declare module 'oidc-provider/lib/shared/access_token.js' {
  export interface Context {
    readonly path: string
    oidc: { route: string }
    status: number
    body: unknown
  }

  /** Its own checks of an access token and its proof, as middleware. */
  export function getValidateAccessToken(): (context: Context, next: () => Promise<void>) => Promise<void>
}
