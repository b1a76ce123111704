/** A server of the database that this node must not use. Callers see an outage with the reason (lib/unavailable.ts). */

export type UnfitCode =
  | 'GATEHOUSE_NO_PRIMARY'
  | 'GATEHOUSE_STANDBY'
  | 'GATEHOUSE_OLD_PRIMARY'
  | 'GATEHOUSE_OTHER_CLUSTER'
  | 'GATEHOUSE_FAILED_OVER'
  | 'GATEHOUSE_UNREPLICATED'

export class UnfitServer extends Error {
  override readonly name = 'UnfitServer'
  readonly code: UnfitCode

  constructor(code: UnfitCode, message: string) {
    super(message)
    this.code = code
  }
}
