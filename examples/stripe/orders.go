package main

import (
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
)

// lock keeps an order from other goroutines until the caller unlocks it. Several processes would lock the order's row.
func (s *shop) lock(id string) (unlock func()) {
	lock := &s.locks[crc32.ChecksumIEEE([]byte(id))%uint32(len(s.locks))]
	lock.Lock()
	return lock.Unlock
}

// create saves an order that is new.
func (s *shop) create(o *order) error {
	defer s.lock(o.ID)()
	if _, err := s.load(o.ID); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.save(o)
}

// with calls do with a locked order, if it is open.
func (s *shop) with(ctx context.Context, id string, do func(context.Context, *order) error) error {
	defer s.lock(id)()
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	o, err := s.load(id)
	if err != nil {
		return err
	}
	if o.State != open {
		return s.forget(id)
	}
	return do(ctx, &o)
}

// load and save keep each order in a file, so that the example needs no database. What counts is the same in yours: save
// returns after the order is on the disk, and either all of it is, or nothing.
func (s *shop) load(id string) (o order, err error) {
	text, err := s.orders.ReadFile(path.Join("done", id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = s.orders.ReadFile(path.Join(open, id+".json"))
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

func (s *shop) save(o *order) error {
	dir := open
	if o.State != open {
		dir = "done"
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	temporary, name := path.Join(dir, o.ID+".new"), path.Join(dir, o.ID+".json")
	f, err := s.orders.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := s.orders.Rename(temporary, name); err != nil {
		return err
	}
	d, err := s.orders.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil || dir == open {
		return err
	}
	return s.forget(o.ID)
}

// forget removes an order from those that are open. It is in done by then, and that counts: a crash in between leaves both.
func (s *shop) forget(id string) error {
	if err := s.orders.Remove(path.Join(open, id+".json")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
