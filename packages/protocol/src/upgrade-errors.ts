/** Error codes of WebSocket upgrades: what a stream is refused with before it is open. The documentation is generated from this table. */
import { AGAIN, type HttpError, SIGN_IN, TOKEN } from './http-error.ts'

export const UPGRADE_ERRORS = {
  'stream.version': {
    status: 400,
    title: 'The protocol version is not supported',
    advice: 'Use one of `SupportedVersions`.',
  },
  'stream.sub_protocol': {
    status: 400,
    title: 'No supported sub-protocol is offered',
    advice: 'Offer one of `SupportedSubProtocols`.',
  },
  'stream.handshake': {
    status: 400,
    title: 'The WebSocket handshake is malformed',
    advice: 'Use a WebSocket library that follows RFC 6455.',
  },
  'stream.token_needed': { status: 401, title: 'The header contains no token', advice: TOKEN },
  'stream.provider': { status: 401, title: 'The provider is unknown', advice: 'Use `Bearer` or `DPoP`.' },
  'stream.invalid_token': { status: 401, title: 'The access token is invalid', advice: SIGN_IN },
  'stream.origin': {
    status: 403,
    title: 'The origin is not allowed',
    advice: 'Add the origin to `GATEHOUSE_STREAM_ORIGINS`.',
  },
  'stream.not_found': {
    status: 404,
    title: 'There is no streaming endpoint at this path',
    advice: 'Connect to `/Platform`.',
  },
  'stream.upgrade_required': {
    status: 426,
    title: 'A WebSocket upgrade is required',
    advice: 'Open a WebSocket connection.',
  },
  'stream.websocket_version': {
    status: 426,
    title: 'The WebSocket version is not supported',
    advice: 'Send `Sec-WebSocket-Version: 13`.',
  },
  'stream.address_full': { status: 429, title: 'The address has too many connections', advice: AGAIN },
  'stream.user_full': { status: 429, title: 'The user has too many connections', advice: AGAIN },
  'stream.failure': {
    status: 500,
    title: 'The server failed',
    advice: 'Check its log; report the error if it persists.',
  },
  'stream.full': { status: 503, title: 'The node is full', advice: AGAIN },
  'stream.stopping': { status: 503, title: 'The node is stopping', advice: AGAIN },
} as const satisfies Readonly<Record<string, HttpError>>
