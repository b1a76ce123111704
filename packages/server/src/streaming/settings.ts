/** The settings of the gateway. Times are in milliseconds, sizes in bytes. */
export interface StreamSettings {
  readonly streamVendor: string
  readonly streamOrigins: readonly string[]
  readonly streamAuthenticationDeadline: number
  readonly streamExpiryWarning: number
  readonly streamExpiryGrace: number
  readonly streamPingInterval: number
  readonly streamIdleTimeout: number
  readonly streamDrainTime: number
  readonly streamMaxMessageBytes: number
  readonly streamMaxAnonymousMessageBytes: number
  readonly streamMaxUnreadable: number
  readonly streamReceiveQueueBytes: number
  readonly streamReceiveQueueBytesPerAddress: number
  readonly streamReceiveQueueBytesPerNode: number
  readonly streamSendQueueBytes: number
  readonly streamSendQueueBytesPerAddress: number
  readonly streamSendQueueBytesPerNode: number
  readonly streamMaxSubscriptions: number
  readonly streamMessagesPerSecond: number
  readonly streamMessageBurst: number
  readonly streamMaxConnections: number
  readonly streamMaxConnectionsPerUser: number
  readonly streamMaxConnectionsPerAddress: number
  readonly streamMaxSessionsPerUser: number
  readonly streamDeflate: boolean
  readonly streamDeflateThreshold: number
  readonly streamDeflateWindowBits: number
  readonly streamRestoreTokens: boolean
  readonly streamEcho: boolean
  readonly streamSweepInterval: number
}
