/** The client library of Gatehouse: what applications import. */
export {
  type Admin,
  type AdminAgent,
  type AdminAgreement,
  type AdminApi,
  type AdminAttribute,
  type AdminClient,
  type AdminEntitlement,
  type AdminPlace,
  type AdminProduct,
  type AdminProvider,
  type AdminRole,
  type AdminScimClient,
  type AdminUser,
  type ChangeOptions,
  Collection,
  createAdmin,
  type SignatureAlg,
  type UsageReport,
  type UsageRow,
} from './admin.ts'
export {
  type Alert,
  type AlertBrowser,
  type AlertBrowsers,
  type AlertChannel,
  type AlertDelivery,
  type AlertEvent,
  type AlertInstance,
  type AlertState,
  Alerts,
  type FollowedKey,
  type Silence,
} from './alerts.ts'
export {
  type Browser,
  type BrowserOptions,
  browser,
  type SignInOptions,
  type SignOutOptions,
} from './auth/browser.ts'
export {
  clientCredentials,
  type DeviceOptions,
  type DevicePrompt,
  device,
  getToken,
  type PasswordOptions,
  password,
  refreshToken,
} from './auth/grants.ts'
export { memory, type TokenStorage } from './auth/storage.ts'
export {
  type Auth,
  type AuthEnv,
  type ClientOptions,
  GrantedTokens,
  type TokenSource,
  type Tokens,
  type User,
} from './auth/token-source.ts'
export {
  AuthError,
  ConnectionError,
  GatehouseError,
  LicenceNeeded,
  type Position,
  problemError,
  QueryError,
  StepUpNeeded,
} from './errors.ts'
export {
  createFeeds,
  type Feed,
  type FeedByName,
  type FeedTopic,
  type NewMessage,
  type PublishAllOptions,
  type Published,
  type PublishProgress,
  type TopicOptions,
} from './feed/feed.ts'
export type { FeedMessage, KeptMessage } from './feed/message.ts'
export type { FeedStart } from './feed/source.ts'
export type { FeedEvent, FeedOptions, FeedSubscription } from './feed/subscription.ts'
export { Gatehouse } from './gatehouse.ts'
export {
  type GatehouseOptions,
  Http,
  type RequestOptions,
  type RequestReport,
  type Search,
  type WebSocketClass,
  type WebSocketLike,
} from './http.ts'
export type { LicenceLabel } from './licence-labels.ts'
export { type Licence, type LicenceAgreement, Licences } from './licences.ts'
export {
  type Batches,
  type CallOptions,
  createQuery,
  type ProgressOptions,
  type Query,
  type QueryOptions,
  type QueryTag,
  type Result,
  type Row,
  type WriteOptions,
} from './query.ts'
export type { Board, SavedDocument, SavedQuery, Tile, View } from './saved.ts'
export { name, type Part, type Statement, sql, statement } from './statement.ts'
export { type EventOptions, LiveEvents, type LiveRequest, liveMessages } from './stream/events.ts'
export { createLive, type Live, type LiveChange, type LiveOptions, type LiveTag } from './stream/live.ts'
export type { State, StateChange } from './stream/protocol.ts'
export { Stream, type StreamRequestOptions } from './stream/stream.ts'
export type { SubscribeOptions, Subscription } from './stream/subscription.ts'
export {
  type Criterion,
  createTable,
  type SelectOptions,
  type Table,
  type UploadOptions,
  type UploadProgress,
  type Where,
} from './table.ts'
export type { Column, Value, ValueOptions } from './values.ts'
