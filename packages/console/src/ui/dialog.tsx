/** Modal dialogs: the browser's own, which keep the focus inside and close with Escape. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { classes, IconButton } from './button.tsx'

export interface DialogProps {
  readonly title: string
  /** Called for Escape, the cross and a click outside. */
  readonly onClose: () => void
  /** At the bottom right: the buttons, the main one last. */
  readonly actions?: ComponentChildren
  /** Called when the form is submitted: by Enter or a button with `type="submit"`. */
  readonly onSubmit?: (() => void) | undefined
  readonly size?: 'small' | 'wide' | undefined
  readonly children: ComponentChildren
}

/** Rendered while it is open. */
export function Dialog({ title, onClose, actions, onSubmit, size, children }: DialogProps) {
  const id = useId()
  const dialog = useModal()
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={dialog}
      class={classes('dialog', size)}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
    >
      <form
        method="dialog"
        class="dialog-content"
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit?.()
        }}
      >
        <header class="dialog-header">
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        <div class="dialog-body">{children}</div>
        {actions !== undefined && <footer class="dialog-actions">{actions}</footer>}
      </form>
    </dialog>
  )
}

/** Opens the dialog of the ref as a modal one, and gives the focus back afterwards. */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    element?.showModal()
    return () => {
      element?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return dialog
}
