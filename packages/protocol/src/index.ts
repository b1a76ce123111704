/** What several packages share: refusals, tables of errors and codes, scopes, addresses and names. */

export {
  calledAddressFault,
  isLoopback,
  originFault,
  redirectUriFault,
  secureAddressFault,
  webAddressFault,
} from './addresses.ts'
export { allowedAgentFault, documentAddressFault, documentHost, isDocumentAddress } from './agent-ids.ts'
export {
  AUDIT_EVENTS,
  type Audit,
  type AuditEvent,
  type AuditEventName,
  type AuditValue,
  auditOutcome,
  CHANGES,
  noAudit,
} from './audit-events.ts'
export { isReservedClaim, isUserClaim } from './claims.ts'
export { type Clock, type Moment, type MonotonicClock, monotonicClock, seconds, systemClock } from './clock.ts'
export { CLOSE_CODES, type CloseName } from './close-codes.ts'
export {
  BUILT_IN_CONTROLLERS,
  COMMON_TOPIC_NAMES,
  CONTROLLER_NAME,
  FEED_CLASSES,
  type FeedClass,
  LONGEST_TOPIC,
} from './controllers.ts'
export {
  type Action,
  DEFAULT_ACTION,
  DEFAULT_CONTROLLER,
  isAction,
  type Message,
  STREAM_PATH,
  STREAM_VERSIONS,
  SUB_PROTOCOLS,
  type SubProtocol,
  type TransactionId,
} from './envelope.ts'
export type { GateEvent } from './gate-event.ts'
export type { HttpError } from './http-error.ts'
export { HTTP_ERRORS } from './http-errors.ts'
export { JsonText } from './json-text.ts'
export { licenceContext } from './licence-context.ts'
export type { FollowedTables, HeldTables, TableNeed } from './licensed-tables.ts'
export { LONGEST_NAME, NAME } from './names.ts'
export { nearest } from './nearest-word.ts'
export type { Actor, AncestorToken, Authenticate, Principal } from './principal.ts'
export { type Problem, toProblem } from './problem.ts'
export { Refusal, type RefusalDetails } from './refusal.ts'
export { limitRights, type RoleRights, rightsByRole } from './role-rights.ts'
export type { RunningSubscription, SubscriberSink, UrgentSink } from './running-subscription.ts'
export {
  AGENT_PATH,
  DECISIONS_SCOPE,
  IDENTITY_AUDIENCE,
  isPlatformScope,
  isReservedScope,
  isRight,
  opensPlatform,
  PLATFORM_AUDIENCE,
  PLATFORM_SCOPES,
  PROVISIONING_SCOPE,
  SCOPES,
  scopeAudiences,
} from './scopes.ts'
export {
  ACR_LEVELS,
  type AcrLevel,
  LONGEST_AGE,
  meets,
  readStepUpNeed,
  type StepUpNeed,
  type StepUpRules,
  sameNeed,
  stepUpContext,
  stepUpRefusal,
  strictest,
} from './step-up.ts'
export { isStreamErrorCode, STREAM_ERRORS, type StreamErrorCode } from './stream-errors.ts'
export { VERSION } from './version.ts'
export { formatDateTime, formatTimeSpan, parseTimeSpan } from './wire-time.ts'
