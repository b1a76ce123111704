/** Types of the functions that the tests use from untyped packages. */
declare module 'express' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  export interface Request extends IncomingMessage {
    user?: { readonly id?: string; readonly displayName?: string }
    oidc?: { isAuthenticated(): boolean; fetchUserInfo(): Promise<unknown> }
  }
  export interface Response extends ServerResponse {
    json(body: unknown): void
    redirect(url: string): void
    status(code: number): Response
  }
  export type NextFunction = (error?: unknown) => void
  export type RequestHandler = (request: Request, response: Response, next: NextFunction) => void
  export type ErrorRequestHandler = (error: Error, request: Request, response: Response, next: NextFunction) => void
  export interface Express extends RequestListener {
    use(...handlers: (RequestHandler | ErrorRequestHandler)[]): void
    get(path: string, ...handlers: RequestHandler[]): void
  }
  export default function express(): Express
}

declare module 'express-session' {
  import type { RequestHandler } from 'express'

  interface Store {
    get(id: string, callback: (error: unknown, session?: never) => void): void
    set(id: string, session: never, callback?: (error?: unknown) => void): void
    destroy(id: string, callback?: (error?: unknown) => void): void
  }
  const session: { (options: Record<string, unknown>): RequestHandler; MemoryStore: new () => Store }
  export default session
}

declare module 'passport' {
  import type { RequestHandler } from 'express'

  export interface Passport {
    use(strategy: unknown): void
    serializeUser(serialize: (user: unknown, done: (error: null, id: unknown) => void) => void): void
    deserializeUser(restore: (id: unknown, done: (error: null, user: unknown) => void) => void): void
    initialize(): RequestHandler
    session(): RequestHandler
    authenticate(name: string, options?: Record<string, unknown>): RequestHandler
  }
  const passport: { Passport: new () => Passport }
  export default passport
}

declare module 'passport-openidconnect' {
  type Done = (error: null, user: unknown) => void
  export default class Strategy {
    constructor(options: Record<string, unknown>, verify: (issuer: string, profile: unknown, done: Done) => void)
  }
}
