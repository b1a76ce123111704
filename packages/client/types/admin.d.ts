import { type Http, type Search } from './http.ts';
import type { CallOptions, Row } from './query.ts';
/** Options of a change. */
export interface ChangeOptions extends CallOptions {
    /** The ETag that was read; without it the change overwrites concurrent changes. */
    readonly ifMatch?: string | undefined;
    /** More of the query string, as docs/administration.md lists it: `{ free: true }`. */
    readonly search?: Search | undefined;
}
/** A user, as administrators see it. */
export interface AdminUser {
    readonly id: string;
    readonly username: string;
    readonly roles: readonly string[];
    /** Of roles that not only an operator gives: `operator`, `provider:ID` or `scim:CLIENT`. */
    readonly role_sources?: Readonly<Record<string, readonly string[]>>;
    readonly disabled: boolean;
    readonly name?: string;
    readonly email?: string;
    readonly [member: string]: unknown;
}
/** The algorithms that the server can sign with: those of its setting `signing_algs`. */
export type SignatureAlg = 'RS256' | 'PS256' | 'ES256' | 'EdDSA';
/** A registered application, with the names of OpenID Connect Registration. */
export interface AdminClient {
    readonly client_id: string;
    readonly client_name?: string;
    readonly grant_types: readonly string[];
    readonly redirect_uris: readonly string[];
    readonly allowed_origins?: readonly string[];
    readonly scope?: string;
    /** Its access tokens are always bound to a key (DPoP). */
    readonly dpop_bound_access_tokens?: boolean;
    readonly require_acr?: number;
    readonly require_age?: number;
    /** Its authorization requests must be pushed (PAR). */
    readonly require_pushed_authorization_requests?: boolean;
    /** Its authorization requests must be signed (RFC 9101): nothing outside the request object counts. */
    readonly require_signed_request_object?: boolean;
    /** The only algorithm of its request objects. */
    readonly request_object_signing_alg?: SignatureAlg | 'Ed25519';
    /** The algorithm of authorization responses as a JWT (JARM). */
    readonly authorization_signed_response_alg?: SignatureAlg;
    /** The algorithm of introspection responses as a JWT (RFC 9701). */
    readonly introspection_signed_response_alg?: SignatureAlg;
    /** `fapi2`: the FAPI 2.0 Security Profile. */
    readonly profile?: 'fapi2';
    /** Shown only when it is created. */
    readonly client_secret?: string;
    readonly [member: string]: unknown;
}
/** A role, and the scopes that it gives. */
export interface AdminRole {
    readonly name: string;
    readonly scopes: readonly string[];
    readonly description?: string;
    readonly require_second_factor: boolean;
    readonly [member: string]: unknown;
}
/** An API of your own that takes access tokens of this server, and its scopes. */
export interface AdminApi {
    /** An absolute URI, the `aud` of its tokens; or `platform`. */
    readonly resource: string;
    readonly name: string;
    /** Seconds. */
    readonly access_token_lifetime?: number;
    readonly claims?: readonly string[];
    readonly scopes: readonly {
        readonly name: string;
        readonly text?: Readonly<Record<string, string>>;
    }[];
    readonly [member: string]: unknown;
}
/** A client that provisions users over SCIM, and its provisioning tokens without their values. */
export interface AdminScimClient {
    readonly client_id: string;
    readonly client_name: string;
    readonly disabled: boolean;
    /** To the minute. */
    readonly last_seen_at: string | null;
    readonly tokens: readonly {
        readonly id: string;
        readonly created_at: string;
        readonly expires_at: string;
        readonly last_used_at: string | null;
    }[];
}
/** An attribute that users and clients can have, such as a desk. */
export interface AdminAttribute {
    readonly name: string;
    readonly type: 'Text' | 'Integer' | 'Boolean' | 'Date';
    /** Whether there can be several values. */
    readonly many: boolean;
    /** The claim in tokens and at userinfo, and the scope with which it comes. */
    readonly claim?: string;
    readonly scope?: string;
    /** The SCIM attribute that writes it. */
    readonly scim?: string;
    readonly [member: string]: unknown;
}
/** Another OpenID provider, with the names of the declarative file. */
export interface AdminProvider {
    readonly id: string;
    readonly name: string;
    readonly issuer: string;
    readonly client_id: string;
    /** Written, and never shown. */
    readonly client_secret?: string;
    readonly provision: 'never' | 'invited' | 'create';
    readonly disabled: boolean;
    /** To be registered at the provider. */
    readonly redirect_uri: string;
    readonly [member: string]: unknown;
}
/** Agents that users may connect. */
export interface AdminAgent {
    /** A host, one whole client_id, or `*`. */
    readonly allow: string;
    /** What they may ask for; absent: all that agents can have. */
    readonly scopes?: readonly string[];
    readonly [member: string]: unknown;
}
/** A product of market data, with the names of the declarative file. */
export interface AdminProduct {
    readonly name: string;
    /** Such as `15 minutes`. */
    readonly delay?: string;
    readonly default: 'none' | 'delayed' | 'realtime';
    readonly agreement?: string;
    readonly trial?: string;
    readonly warn?: string;
    readonly simultaneous?: number;
    readonly when_full?: 'refuse' | 'displace' | 'delay';
    readonly count?: 'user' | 'place';
    readonly enabled: boolean;
    readonly free?: boolean;
    /** `{ feed: 'Prices', topics: ['NYSE/*'] }`, `{ table: 'trades', column: 'venue', values: ['XNYS'] }` … */
    readonly covers?: readonly Readonly<Record<string, unknown>>[];
}
/** An agreement that products name. */
export interface AdminAgreement {
    readonly id: string;
    readonly version: string;
    readonly title: string;
    /** By language. */
    readonly text: Readonly<Record<string, string>>;
    readonly asks_status: boolean;
    readonly grace?: string;
}
/** Who has which access to a product: one of user, client, role and attribute. */
export interface AdminEntitlement {
    readonly id: string;
    readonly product: string;
    readonly user?: string;
    readonly client?: string;
    readonly role?: string;
    readonly attribute?: Readonly<Record<string, string | number | boolean>>;
    readonly access: 'none' | 'delayed' | 'realtime';
    readonly from?: string;
    readonly until?: string;
    readonly kind: 'billable' | 'trial' | 'exempt';
    readonly note?: string;
}
/** A sign-in or program that uses a product now. */
export interface AdminPlace {
    readonly product: string;
    readonly user?: string;
    readonly username?: string | null;
    readonly client?: string;
    readonly access: 'delayed' | 'realtime';
    readonly since: string;
    readonly session: string;
}
/** Who used which product in a month, from the audit log alone. */
export interface UsageReport {
    readonly month: string;
    readonly zone: string;
    /** The last row of the audit log that counts. */
    readonly head: {
        readonly seq: number;
        readonly hash: string;
        readonly at: string;
    };
    readonly rows: readonly UsageRow[];
    /** Of users, by id. */
    readonly names: Readonly<Record<string, string>>;
}
/** A product and a user or client with a session in the month. */
export interface UsageRow {
    readonly product: string;
    readonly type: 'user' | 'client';
    readonly subject: string;
    readonly firm: string;
    readonly status: 'professional' | 'non_professional';
    readonly kind: 'billable' | 'trial' | 'exempt';
    readonly access: 'delayed' | 'realtime';
    readonly sessions: number;
    /** The most real-time places at one instant. */
    readonly peak: number;
    readonly first: string;
    readonly last: string;
    readonly clients: readonly string[];
    readonly units: number;
}
/**
 * The things under one path.
 *
 * @example
 * ```ts
 * const bob = await gate.admin.users.create({ username: 'bob', password, roles: ['trader'] })
 * await gate.admin.users.update('bob', { disabled: true })
 * for await (const user of gate.admin.users.list({ prefix: 'b' })) console.log(user.username)
 * ```
 */
export declare class Collection<Item = Row> {
    #private;
    constructor(http: Http, path: string);
    /** All of them, page by page as they are read. */
    list(query?: Search, options?: CallOptions): AsyncGenerator<Item, void, undefined>;
    get(id: string, options?: CallOptions): Promise<Item>;
    create(body: Partial<Item>, options?: CallOptions): Promise<Item>;
    /** Changes the given members only; null removes one (JSON merge patch). */
    update(id: string, patch: {
        readonly [Name in keyof Item]?: Item[Name] | null;
    }, options?: ChangeOptions): Promise<Item>;
    delete(id: string, options?: ChangeOptions): Promise<void>;
    /** Deletes all, or only those that match the query. */
    clear(query?: Search, options?: CallOptions): Promise<void>;
}
/** `gate.admin`. */
export interface Admin {
    readonly users: Collection<AdminUser>;
    readonly clients: Collection<AdminClient>;
    readonly roles: Collection<AdminRole>;
    /** APIs of your own, by resource. */
    readonly apis: Collection<AdminApi>;
    /** Clients that provision users over SCIM. Their tokens are at `scim/CLIENT/tokens`: `admin['scim/hr-sync/tokens'].create({})`. */
    readonly scim: Collection<AdminScimClient>;
    readonly [path: `scim/${string}/tokens`]: Collection;
    /** What users and clients can have besides the standard claims. */
    readonly attributes: Collection<AdminAttribute>;
    /** Other OpenID providers through which people sign in. */
    readonly providers: Collection<AdminProvider>;
    /** Agents that users may connect, by host or client_id. */
    readonly agents: Collection<AdminAgent>;
    /** Products of market data: `update('NYSE.L1', { covers: [] }, { search: { free: true } })`. */
    readonly products: Collection<AdminProduct>;
    /** Agreements that people accept. */
    readonly agreements: Collection<AdminAgreement>;
    /** Who may use which product: `list({ product: 'NYSE.L1' })`. */
    readonly entitlements: Collection<AdminEntitlement>;
    /** Sign-ins and programs that use products now. */
    readonly places: Collection<AdminPlace>;
    readonly keys: Collection;
    /** Open streaming connections. */
    readonly streams: Collection;
    /** Running queries and live statements. */
    readonly queries: Collection;
    readonly settings: Collection;
    readonly scopes: Collection;
    /** `list({ after: seq, wait: 20 })` follows the log. */
    readonly audit: Collection;
    readonly nodes: Collection;
    readonly backups: Collection;
    /** Browser sessions of all users. */
    readonly sessions: Collection;
    /** What applications may do for users now. */
    readonly grants: Collection;
    /** One-time links with which people choose a password: `create({ user })`, or `create({ username, roles })` for a new user. */
    readonly links: Collection;
    /** Mails that wait for delivery, and those of the last week that were delivered or given up: `list({ state: 'waiting' })`. */
    readonly mail: Collection;
    /** How many users, clients, roles, sessions and grants there are, up to a bound. */
    readonly counts: Collection;
    /** What belongs to a user: `of('bob', 'sessions')`, `factors`, `consents`, `identities`. */
    of(user: string, what: 'sessions' | 'factors' | 'consents' | 'identities'): Collection;
    setPassword(user: string, password: string, options?: CallOptions): Promise<void>;
    /** Who used which product in a month such as `2026-11`. */
    usage(month: string, search?: Search, options?: CallOptions): Promise<UsageReport>;
}
/**
 * The administration without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const admin = createAdmin(new Http(url, { auth }))
 * await admin.users.create({ username: 'bob' })
 * ```
 */
export declare function createAdmin(http: Http): Admin;
