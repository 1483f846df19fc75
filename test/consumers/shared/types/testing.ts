export * from 'nestjs-fenced-lock/testing';
