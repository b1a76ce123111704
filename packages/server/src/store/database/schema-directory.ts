/** The tables of mail and of SCIM, which are part of the identity database. */

export interface MailTables {
  /** Mails that wait for delivery, and those that were delivered or given up recently (mail/mail-queue.ts). */
  mail_queue: {
    id: string
    kind: string
    state: string
    user_id: string | null
    /** Null until it is known: that of `user_id`, or whatever was typed. */
    recipient: string | null
    /** What mails are counted by, see mail-queue.ts; null until the first attempt. */
    mailbox: string | null
    /** The network that asked for it, where anybody may. */
    origin: string | null
    language: string
    /** The values of the text, with the link. Null once it has ended. */
    sealed: string | null
    attempts: number
    last_error: string | null
    created_at: number
    next_at: number
    tried_at: number | null
    expires_at: number
    leased_by: string | null
    leased_until: number | null
    ended_at: number | null
  }
  /** Links with which a person confirms an e-mail address (mail/address-links.ts). */
  address_links: {
    id: string
    digest: string
    user_id: string
    address: string
    /** The address of the user when it was made. */
    replaces: string | null
    created_at: number
    expires_at: number
    used_at: number | null
    revoked_at: number | null
  }
  /** In which a user has signed in, where mail is set up. */
  known_browsers: {
    user_id: string
    digest: string
    seen_at: number
  }
}

export interface ScimTables {
  /** What SCIM clients call users and groups (scim/). */
  scim_external_ids: {
    client_id: string
    kind: 'User' | 'Group'
    external_id: string
    /** The id of the user or group. */
    resource_id: string
  }
  /** The roles that SCIM clients see as groups. */
  scim_groups: {
    role: string
    id: string
    display_name: string
    display_key: string
    /** The SCIM client that made the role; null for a role of an operator. */
    made_by: string | null
    /** Changes with the group and its members. */
    revision: number
    created_at: number
    updated_at: number
  }
  /** Provisioning tokens. */
  scim_tokens: {
    id: string
    client_id: string
    digest: string
    created_at: number
    expires_at: number
    used_at: number | null
  }
  /** When a SCIM client was last seen. */
  scim_clients: {
    client_id: string
    seen_at: number
  }
}
