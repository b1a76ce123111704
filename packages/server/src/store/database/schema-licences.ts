/** The tables of market-data licences, which are part of the identity database. */

import type { Generated } from 'kysely'

export interface LicenceTables {
  /** Definitions of products (licences/products.ts). */
  products: {
    name: string
    definition: string
    created_at: number
    updated_at: number
  }
  /** Definitions of agreements. */
  agreements: {
    id: string
    definition: string
    created_at: number
    updated_at: number
  }
  /** What a user, client, role or attribute may use of a product. */
  entitlements: {
    id: string
    product: string
    level: 'user' | 'client' | 'attribute' | 'role'
    /** The id of the user or client, the role, or `attribute=value`. */
    holder: string
    starts_at: number | null
    ends_at: Generated<number | null>
    definition: string
    created_at: number
    updated_at: number
  }
  /** Versions of agreements that users and clients have accepted. */
  acceptances: {
    agreement: string
    holder: string
    version: string
    /** SHA-256 of the text, in hexadecimal. */
    digest: string
    language: string
    address: string | null
    note: string | null
    accepted_at: number
  }
  /** Whether users are professionals. */
  licence_statuses: {
    user_id: string
    professional: number
    set_by: 'user' | 'operator'
    updated_at: number
  }
  trials: {
    user_id: string
    product: string
    starts_at: number
    ends_at: number
  }
  /** Ends of access that users have been told by mail. */
  licence_warnings: {
    user_id: string
    product: string
    ends_at: number
  }
  /** Sign-ins and programs that use a product now. */
  licence_places: {
    product: string
    /** `user:` or `client:` and the id. */
    holder: string
    /** A digest of what tells it from other places of the holder. */
    place: string
    session: string
    access: 'delayed' | 'realtime'
    /** Whether another place waits for its end. */
    displaced: number
    taken_at: number
    expires_at: number
    /** The processes that hold it, separated by spaces; empty where another program does. */
    nodes: Generated<string>
  }
}
