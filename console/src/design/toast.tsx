import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react';
import { TEXTS } from '../texts';
import { Button } from './button';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

type Say = (text: string, options?: { bad?: boolean }) => void;

const ToastContext = createContext<Say>(() => undefined);

/** Says in a corner what has just happened; read aloud, and gone after a while. */
export const useToast = (): Say => useContext(ToastContext);

/** Long enough for slow readers; what must not be missed stands on the page instead. */
const SHOWN_MS = 8_000;
let lastId = 0;

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const remove = useCallback((id: number) => setToasts((all) => all.filter((one) => one.id !== id)), []);
  const say = useMemo<Say>(
    () =>
      (text, { bad = false } = {}) => {
        lastId += 1;
        const id = lastId;
        setToasts((all) => [...all.slice(-2), { id, text, bad }]);
        setTimeout(() => remove(id), SHOWN_MS);
      },
    [remove],
  );
  return (
    <ToastContext value={say}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text, bad }) => (
          <div key={id} className={bad ? 'toast bad' : 'toast'}>
            <span>{text}</span>
            <Button small kind="quiet" onClick={() => remove(id)}>
              {TEXTS.common.close}
            </Button>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
