/** The endpoints that this library uses, as the metadata names them. */
export type EndpointName = 'authorization' | 'token' | 'device_authorization' | 'revocation' | 'end_session' | 'userinfo';
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;
/**
 * RFC 8414 §3.3: the document must be that of the issuer, else its endpoints could receive what is meant for another
 * server. Throws before that can happen.
 */
export declare function discover(issuer: string, fetch: Fetch): Promise<Readonly<Record<string, unknown>>>;
/** The object that the address answers with; of anything else, no members. */
export declare function getJson(fetch: Fetch, url: string, init?: RequestInit): Promise<Readonly<Record<string, unknown>>>;
/**
 * `fetch` whose network errors are ConnectionErrors, while an abort stays what it is. A redirect is an error: it would carry a
 * password or a token elsewhere.
 */
export declare function reach(fetch: Fetch, url: string, init: RequestInit): Promise<Response>;
