/** Escape closes a panel beside a list, unless it is meant for a dialog, a menu or a field with text. */
import { useEffect, useRef } from 'preact/hooks'

export function useEscape(onEscape: () => void): void {
  const act = useRef(onEscape)
  act.current = onEscape
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      if (document.querySelector('dialog[open], [role="menu"]:popover-open') === null && !isTyping()) act.current()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

function isTyping(): boolean {
  return document.activeElement?.matches('textarea, select, input:not([type="radio"])') === true
}
