/** What the pages and endpoints of browsers need from the rest of the server. */
import type { Bus } from '../../events/bus.ts'
import type { Doors } from '../../http/doors.ts'
import type { Audit } from '../../protocol/audit-events.ts'
import type { Clock } from '../../protocol/clock.ts'
import type { Metrics } from '../../protocol/metrics.ts'
import type { Stores } from '../../store/stores.ts'
import type { TakeBack } from '../../store/take-back.ts'
import type { ClientDirectory } from '../client-directory.ts'
import type { TokenLifetimes } from '../grants/env.ts'
import type { Hashing } from '../hashing.ts'
import type { Issuer } from '../issuer.ts'
import type { CheckPassword } from '../password-check.ts'
import type { Signer } from '../signer.ts'
import type { BrowserCookies } from './cookies.ts'
import type { Flows } from './flow.ts'
import type { PageSettings } from './page-reply.ts'

type UsedStores = Pick<
  Stores,
  'users' | 'grants' | 'codes' | 'sessions' | 'consents' | 'factors' | 'deviceCodes' | 'throttles'
>

export interface BrowserEnv extends UsedStores {
  readonly clients: Pick<ClientDirectory, 'find'>
  readonly flows: Flows
  readonly issuer: Issuer
  readonly signer: Pick<Signer, 'verify'>
  readonly takeBack: TakeBack
  readonly publish: Bus['publish']
  readonly checkPassword: CheckPassword
  readonly hashing: Hashing
  readonly audit: Audit
  readonly metrics: Pick<Metrics, 'count'>
  readonly clock: Clock
  readonly cookies: BrowserCookies
  readonly doors: Pick<Doors, 'admit'>
  readonly pages: PageSettings
  /** Seals the secrets of authenticator apps at rest. */
  readonly sealingKey: Buffer
  readonly lifetimes: TokenLifetimes
}
