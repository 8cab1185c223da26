"use client";

import type { HoldfastSeats as SeatsElement, HoldfastSeatsEventDetails, Price, Token, Words } from "@holdfast/seats";
import { createElement, forwardRef, useEffect, useImperativeHandle, useRef, type CSSProperties } from "react";

type Details = HoldfastSeatsEventDetails;

/** The attributes, properties and events of the element, which the README of @holdfast/seats explains. */
export interface HoldfastSeatsProps {
  event: string;
  src?: string;
  user?: string;
  holder?: string;
  hold?: "click" | "checkout";
  maxSeats?: number;
  ttlSeconds?: number;
  lock?: string;
  currency?: string;
  lang?: string;
  theme?: "light" | "dark";
  /** A function stays the same one, as of useCallback, until another customer logs in. */
  token?: Token;
  prices?: Record<string, Price>;
  /** Keys of the categories that can be chosen. */
  selectable?: string[] | null;
  /** A constant: another object loads the map again. */
  words?: Partial<Words>;
  /** The element sets and removes it too, so a value has an effect when it changes. */
  paying?: boolean;
  onReady?: (event: CustomEvent<Details["ready"]>) => void;
  onSeatSelected?: (event: CustomEvent<Details["seatselected"]>) => void;
  onPlacesSelected?: (event: CustomEvent<Details["placesselected"]>) => void;
  onHoldChanged?: (event: CustomEvent<Details["holdchanged"]>) => void;
  onHoldExpired?: (event: CustomEvent<Details["holdexpired"]>) => void;
  onWaitlistChanged?: (event: CustomEvent<Details["waitlistchanged"]>) => void;
  onError?: (event: CustomEvent<Details["error"]>) => void;
  id?: string;
  className?: string;
  style?: CSSProperties;
}

const attributes = {
  src: "src", user: "user", holder: "holder", hold: "hold", maxSeats: "max-seats", ttlSeconds: "ttl-seconds", lock: "lock", currency: "currency",
  lang: "lang", theme: "theme", event: "event",
} as const;
const properties = ["words", "prices", "token", "paying", "selectable"] as const;
const events = {
  onReady: "ready", onSeatSelected: "seatselected", onPlacesSelected: "placesselected", onHoldChanged: "holdchanged", onHoldExpired: "holdexpired",
  onWaitlistChanged: "waitlistchanged", onError: "error",
} as const;

/**
 * HoldfastSeats shows the seat map; its ref is the element, whose methods can be called from `onReady` on. An effect sets everything,
 * because React's versions differ in what they make of an element's props, and 19 would replace the method `hold` by the attribute's value.
 */
export const HoldfastSeats = forwardRef<SeatsElement, HoldfastSeatsProps>(function HoldfastSeats(props, ref) {
  const node = useRef<SeatsElement>(null);
  const before = useRef<HoldfastSeatsProps>(undefined);
  useImperativeHandle(ref, () => node.current!, []);

  useEffect(() => {
    import("@holdfast/seats"); // not on a server, which has no elements. The element keeps what is set before
  }, []);

  useEffect(() => {
    const element = node.current!;
    const handlers = new AbortController();
    for (const [prop, type] of Object.entries(events)) {
      const handler = props[prop as keyof typeof events] as EventListener | undefined;
      if (handler) element.addEventListener(type, handler, { signal: handlers.signal });
    }
    for (const [prop, name] of Object.entries(attributes)) {
      const value = props[prop as keyof typeof attributes];
      if (value === undefined) element.removeAttribute(name);
      else element.setAttribute(name, String(value));
    }
    for (const name of properties) {
      if (props[name] !== before.current?.[name]) Object.assign(element, { [name]: props[name] });
    }
    before.current = props;
    return () => handlers.abort();
  });

  return createElement("holdfast-seats", { ref: node, id: props.id, class: props.className, style: props.style });
});
