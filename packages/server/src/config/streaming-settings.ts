/** Settings of the streaming service. */
import { parseNatsUrl } from './nats-url.ts'
import {
  parseBoolean,
  parseInteger,
  parseOrigins,
  parseReplicas,
  parseSeconds,
  parseText,
  parseWindowBits,
} from './parsers.ts'
import { type Settings, setting } from './setting.ts'

export const STREAMING_SETTINGS = {
  streamVendor: setting(
    'Vendor',
    parseText,
    'Prefix of the scopes that streaming clients see, as in Vendor.Platform.Market.',
  ),
  streamOrigins: setting('', parseOrigins, 'Origins whose pages may open streaming connections. Empty: all origins.'),
  streamAuthenticationDeadline: setting(
    '60',
    parseSeconds,
    'Seconds within which a streaming connection must authenticate.',
  ),
  streamExpiryWarning: setting(
    '120',
    parseSeconds,
    'Seconds before expiry at which subscribers of Identify are warned.',
  ),
  streamExpiryGrace: setting(
    '60',
    parseSeconds,
    'Seconds after expiry within which a connection may authenticate again.',
  ),
  streamPingInterval: setting('30', parseSeconds, 'Seconds between pings on a streaming connection.'),
  streamIdleTimeout: setting(
    '60',
    parseSeconds,
    'Seconds without a frame after which a streaming connection is closed.',
  ),
  streamDrainTime: setting('10', parseSeconds, 'Seconds over which a stopping node closes its connections.'),
  streamMaxMessageBytes: setting(
    '1048576',
    parseInteger,
    'Maximum bytes of a message from a streaming client, after decompression.',
  ),
  streamMaxAnonymousMessageBytes: setting(
    '65536',
    parseInteger,
    'Maximum bytes of a message from a streaming client that has not signed in yet, after decompression.',
  ),
  streamMaxUnreadable: setting(
    '10',
    parseInteger,
    'Consecutive unreadable messages after which a streaming connection is closed.',
  ),
  streamReceiveQueueBytes: setting(
    '4194304',
    parseInteger,
    'Bytes of unanswered requests above which the server stops reading from a connection.',
  ),
  streamReceiveQueueBytesPerAddress: setting(
    '67108864',
    parseInteger,
    'Maximum bytes of unread input, incomplete messages and unanswered requests of one address; above this, the connection with the most is closed.',
  ),
  streamReceiveQueueBytesPerNode: setting(
    '134217728',
    parseInteger,
    'Maximum bytes of unread input, incomplete messages and unanswered requests on this node; above this, the connection with the most is closed.',
  ),
  streamSendQueueBytes: setting('1048576', parseInteger, 'Maximum bytes queued for a client that reads slowly.'),
  streamSendQueueBytesPerAddress: setting(
    '67108864',
    parseInteger,
    'Maximum bytes queued for all streaming clients of one address; above this, the slowest connection is closed.',
  ),
  streamSendQueueBytesPerNode: setting(
    '268435456',
    parseInteger,
    'Maximum bytes queued for all streaming clients of this node; above this, the slowest connection is closed.',
  ),
  streamMaxSubscriptions: setting('1000', parseInteger, 'Maximum subscriptions of one connection.'),
  streamMessagesPerSecond: setting(
    '1000',
    parseInteger,
    'Sustained rate of messages per second that one connection may send.',
  ),
  streamMessageBurst: setting(
    '10000',
    parseInteger,
    'Messages that one connection may send in a burst above the sustained rate.',
  ),
  streamMaxConnections: setting('50000', parseInteger, 'Maximum streaming connections of this node.'),
  streamMaxConnectionsPerUser: setting('100', parseInteger, 'Maximum streaming connections of one user to this node.'),
  streamMaxConnectionsPerAddress: setting(
    '1000',
    parseInteger,
    'Maximum streaming connections from one address to this node.',
  ),
  streamMaxSessionsPerUser: setting(
    '20',
    parseInteger,
    'Maximum streaming sessions (sign-ins) of one user on this node; a new one displaces the oldest.',
  ),
  streamDeflate: setting(
    'true',
    parseBoolean,
    'Accept compression (permessage-deflate) when a streaming client offers it.',
  ),
  streamDeflateThreshold: setting('1024', parseInteger, 'Bytes below which a streaming message is not compressed.'),
  streamDeflateWindowBits: setting('12', parseWindowBits, 'Window size of the compression as a power of two, 9 to 15.'),
  streamRestoreTokens: setting('true', parseBoolean, 'Answer AuthToken with a token that restores the connection.'),
  streamEcho: setting('false', parseBoolean, 'Serve /echo, which returns every message; for conformance suites only.'),
  streamControllers: setting('', parseText, 'Module, or folder of modules, with additional streaming controllers.'),
  streamSweepInterval: setting('0.25', parseSeconds, 'Seconds between timeout checks of streaming connections.'),
  feedPublisherKeys: setting(
    '1000000',
    parseInteger,
    'Idempotency keys that one user or client may use for one feed in 24 hours, on each node.',
  ),
  feedPublisherRate: setting(
    '20000',
    parseInteger,
    'Messages per second that one publisher may publish to feeds. A request or message that exceeds it is refused with 429 or Limited.',
  ),
  feedPatterns: setting(
    '100',
    parseInteger,
    'Maximum patterns of feeds that one streaming connection may subscribe to.',
  ),
  feedBytes: setting(
    '10737418240',
    parseInteger,
    'Bytes of the messages that all feeds keep, as states and history. Past it nothing more is published to feeds that keep messages.',
  ),
  natsUrl: setting(
    '',
    parseNatsUrl,
    'Address of NATS (nats://host:4222, or tls://…; several servers of a cluster separated by commas), which then carries and keeps the messages of feeds instead of the database. Empty: not used.',
    'secret',
  ),
  natsCredentials: setting('', parseText, 'File with credentials for NATS (a JWT and its seed, as nsc writes it).'),
  natsTlsCa: setting(
    '',
    parseText,
    'File with the certificates of authorities (PEM) that certificates of NATS are checked against. Empty: those of Node.',
  ),
  natsReplicas: setting(
    '1',
    parseReplicas,
    'Servers of a cluster of NATS that keep each message of a feed: 1, 3 or 5.',
  ),
  natsAtomicBatches: setting(
    'true',
    parseBoolean,
    'Publish the messages of a request to NATS all or none, where it can (2.12 and later). false: many small requests are faster, but a failure may leave a part of one.',
  ),
} as const satisfies Settings
