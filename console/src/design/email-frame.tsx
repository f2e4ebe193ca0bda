import { useEffect, useRef } from 'react';

/**
 * An email as its reader sees it, in a frame without scripts and without the network: its policy is that of
 * /console/preview.html, and `allow-scripts` must never be added here.
 */
export function EmailFrame({ html, title, width }: { html: string; title: string; width: number }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const show = () => {
    const root = frame.current?.contentDocument?.documentElement;
    if (root) root.innerHTML = html;
  };
  useEffect(show, [html]);
  return (
    <iframe
      ref={frame}
      className="email-frame"
      src="/console/preview.html"
      sandbox="allow-same-origin"
      title={title}
      width={width}
      height={480}
      onLoad={show}
    />
  );
}
