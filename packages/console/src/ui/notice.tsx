/** What happened or is missing: empty states, errors, notices and badges. */
import type { ComponentChildren } from 'preact'
import { GatehouseError, QueryError } from '../../../client/src/index.ts'
import { Button, classes } from './button.tsx'
import { Copy } from './copy.tsx'
import { Icon, type IconName } from './icon.tsx'

export interface EmptyProps {
  readonly icon?: IconName
  /** What is missing. */
  readonly title: string
  /** How to get it: which right, whom to ask, what to press. */
  readonly children?: ComponentChildren
  readonly actions?: ComponentChildren
}

export function Empty({ icon = 'info', title, children, actions }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children !== undefined && <div class="empty-text">{children}</div>}
      {actions !== undefined && <div class="empty-actions">{actions}</div>}
    </div>
  )
}

/** For a page that the token does not allow. */
export function Forbidden({ rights }: { readonly rights: readonly string[] }) {
  const names = rights.map((right) => (right.endsWith('/') ? `${right}…` : right))
  return (
    <Empty icon="lock" title="You have no access to this area">
      It needs the right <RightNames names={names} />. An administrator can give you a role that has it.
    </Empty>
  )
}

function RightNames({ names }: { readonly names: readonly string[] }) {
  return names.map((name, index) => (
    <span key={name}>
      {index > 0 && ' or '}
      <code>{name}</code>
    </span>
  ))
}

export interface ErrorNoticeProps {
  readonly error: unknown
  /** What failed, in a few words. */
  readonly title?: string
  /** Offers another attempt. */
  readonly onRetry?: (() => void) | undefined
}

/** An error with its code, what to do about it, and the request id by which the logs have it. */
export function ErrorNotice({ error, title, onRetry }: ErrorNoticeProps) {
  const { message, code, hint, requestId, caret } = explain(error)
  return (
    <div class="notice error" role="alert">
      <Icon name="error" />
      <div class="notice-text">
        {title !== undefined && <strong>{title}</strong>}
        <p>{message}</p>
        {caret !== undefined && <pre class="caret">{caret}</pre>}
        {hint !== undefined && <p class="quiet">{hint}</p>}
        <p class="notice-facts">
          {code !== undefined && <code>{code}</code>}
          {requestId !== undefined && (
            <span>
              Request <code>{requestId}</code> <Copy text={requestId} label="Copy the request id" />
            </span>
          )}
        </p>
      </div>
      {onRetry !== undefined && (
        <Button size="small" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

export interface ErrorFacts {
  readonly message: string
  readonly code?: string | undefined
  readonly hint?: string | undefined
  readonly requestId?: string | undefined
  readonly caret?: string | undefined
}

export function explain(error: unknown): ErrorFacts {
  if (!(error instanceof GatehouseError)) return { message: error instanceof Error ? error.message : String(error) }
  const { message, code, hint, requestId } = error
  return { message, code, hint, requestId, caret: error instanceof QueryError ? error.caret : undefined }
}

/** A remark inside a page. */
export function Notice({
  kind = 'info',
  children,
}: {
  readonly kind?: 'info' | 'good' | 'warning'
  readonly children: ComponentChildren
}) {
  const icon = kind === 'good' ? 'check' : kind
  return (
    <div class={classes('notice', kind)}>
      <Icon name={icon} />
      <div class="notice-text">{children}</div>
    </div>
  )
}

export function Badge({
  kind,
  children,
}: {
  readonly kind?: 'good' | 'warning' | 'danger' | 'accent' | undefined
  readonly children: ComponentChildren
}) {
  return <span class={classes('badge', kind)}>{children}</span>
}
