/** What streams ask of licences: whether products cover a controller, and whether a caller may use its topics. */
import type { Principal, Refusal } from 'gatehouse-protocol'

export interface StreamLicences {
  /** Whether a product covers anything of the controller: then the rest is nobody's. */
  covers(controller: string): boolean
  /** Undefined: this node knows what others have changed. Otherwise resolves when it does: until then nothing licensed is sent. */
  catchUp(): Promise<void> | undefined
  open(request: StreamUseRequest): Promise<StreamUse>
}

export interface StreamUseRequest {
  readonly controller: string
  readonly topic: string
  readonly principal: Principal
  readonly address: string
  /** The refusal of the use is another one. */
  onChange(): void
}

export interface StreamUse {
  /** Undefined while the caller has real-time access. */
  readonly refusal: Refusal | undefined
  setPrincipal(principal: Principal): void
  close(): void
}
