/** A client broke the protocol: FATAL 08P01, and the connection ends. */
export class ProtocolViolation extends Error {}
