/** Who alerts run for: their owners as they are now. The server says; see server/alert-owners.ts. */
import type { Principal } from 'gatehouse-protocol'
import type { Alert } from '../../store/alerts/alert.ts'

export type OwnerNow =
  | { readonly kind: 'present'; readonly principal: Principal }
  /** It goes on when the rights are back. */
  | { readonly kind: 'suspended'; readonly reason: string }
  /** The owner or the client was deleted. */
  | { readonly kind: 'gone' }

export interface Owners {
  find(alert: Pick<Alert, 'owner' | 'rights' | 'id'>): Promise<OwnerNow>
}
