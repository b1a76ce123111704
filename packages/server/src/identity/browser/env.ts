/** What the pages and browser endpoints use of the rest of the server. */

import type { Audit, Clock } from 'gatehouse-protocol'
import type { Accounts } from '../../accounts/accounts.ts'
import type { Bus } from '../../events/bus.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import type { Revocations } from '../../store/authorizations/revocations.ts'
import type { Session } from '../../store/authorizations/sessions.ts'
import type { MailPort } from '../../store/mail/notify.ts'
import type { Stores } from '../../store/stores.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Agents } from '../agents/agents.ts'
import type { ListTables } from '../agents/opened-tables.ts'
import type { ApiRegistry } from '../apis/registry.ts'
import type { Attempts } from '../attempts.ts'
import type { AttributeDirectory } from '../attributes/attribute-directory.ts'
import type { PushedSettings } from '../authorize/pushed-request.ts'
import type { ClientDirectory } from '../clients/client-directory.ts'
import type { ClientKeys } from '../clients/client-keys.ts'
import type { TokenLifetimes } from '../grants/lifetimes.ts'
import type { OwnLicences } from '../own-licences.ts'
import type { Hashing } from '../passwords/hashing.ts'
import type { CheckPassword } from '../passwords/password-check.ts'
import type { ProviderDirectory } from '../provider-directory.ts'
import type { Issuer } from '../tokens/issuer.ts'
import type { Signer } from '../tokens/signer.ts'
import type { BrowserContext } from './browser-context.ts'
import type { BrowserCookies } from './cookies.ts'
import type { Flows, LogoutRequest } from './flow.ts'
import type { PageSettings } from './page-reply.ts'

type UsedStores = Pick<
  Stores,
  | 'users'
  | 'roles'
  | 'grants'
  | 'codes'
  | 'sessions'
  | 'consents'
  | 'factors'
  | 'deviceCodes'
  | 'setUpLinks'
  | 'addressLinks'
  | 'throttles'
  | 'identities'
  | 'providerSignIns'
  | 'pushedRequests'
>

export interface BrowserEnv extends UsedStores {
  readonly accounts: Accounts
  readonly clients: Pick<ClientDirectory, 'find'>
  /** Undefined where no agents are served. */
  readonly agents: Agents | undefined
  /** The public keys of a client, for its request objects. */
  readonly clientKeys: ClientKeys
  readonly flows: Flows
  readonly issuer: Issuer
  readonly apis: ApiRegistry
  readonly attributes: Pick<AttributeDirectory, 'claims'>
  readonly signer: Pick<Signer, 'verify'>
  readonly revocations: Revocations
  readonly publish: Bus['publish']
  readonly checkPassword: CheckPassword
  readonly providers: ProviderDirectory
  readonly hashing: Hashing
  readonly attempts: Attempts
  readonly audit: Audit
  readonly metrics: Pick<Metrics, 'count'>
  readonly clock: Clock
  readonly cookies: BrowserCookies
  readonly rateLimits: Pick<RateLimits, 'countCaller'>
  readonly pages: PageSettings
  /** Seals the secrets of authenticator apps at rest. */
  readonly sealingKey: Buffer
  readonly lifetimes: TokenLifetimes
  readonly pushed: PushedSettings
  readonly listTables: ListTables
  readonly licences: OwnLicences
  /** Undefined where no mail is set up. */
  readonly mail: MailPort | undefined
  /** Where a sign-out continues, if the session came from another provider that is notified. */
  readonly signOutThere: SignOutThere
}

export type SignOutThere = (
  context: BrowserContext,
  session: Session,
  request: LogoutRequest,
) => Promise<{ readonly url: string; readonly name: string } | undefined>
